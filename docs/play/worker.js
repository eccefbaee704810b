// The engine's side: runs in a worker, calls the C interface in examples/play/play.h.
// `Gradus` is defined by the glue code before this file. Messages: {id, name, args} in,
// {id, value} or {id, error} out.

const kGlue = {engine: null};

/** Calls a function that returns a string, or 0 after a failure. */
function play(name, types = [], args = []) {
  const text = kGlue.engine.ccall(`play_${name}`, 'string', types, args);
  if (!text) throw failure();
  return text;
}

function failure() {
  const said = JSON.parse(kGlue.engine.ccall('play_error', 'string', [], []));
  return Object.assign(new Error(said.message), {field: said.field});
}

const kCalls = {
  async open(packed) {
    const zipped = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    const wasmBinary = await new Response(zipped).arrayBuffer();
    kGlue.engine = await Gradus({wasmBinary, print() {}, printErr() {}});
    return {lessons: JSON.parse(play('lessons')), exercises: JSON.parse(play('exercises'))};
  },
  begin(lesson, parameters) {
    const given = JSON.stringify(parameters);
    const begun = kGlue.engine.ccall('play_begin', 'number', ['number', 'string'], [lesson, given]);
    if (!begun) throw failure();
    return {text: play('text')};
  },
  /** Makes one step and returns its trace. */
  step() {
    const trace = play('step', ['number'], [1]);
    return {trace, text: play('text'), loss: kGlue.engine._play_loss()};
  },
  /** Makes up to `count` steps, but stops after `most` milliseconds. Returns the losses. */
  steps(count, most) {
    const {engine} = kGlue, losses = [], place = engine._malloc(8);
    const end = performance.now() + most;
    try {
      while (losses.length < count && (losses.length === 0 || performance.now() < end)) {
        if (engine._play_steps(1, place) !== 1) throw failure();
        losses.push(engine.HEAPF64[place / 8]);
      }
    } finally {
      engine._free(place);
    }
    return {losses};
  },
  picture() { return JSON.parse(play('picture')); },
  check(exercise, choice) {
    return JSON.parse(play('check', ['number', 'number'], [exercise, choice]));
  },
};

self.onmessage = async ({data: {id, name, args}}) => {
  try {
    self.postMessage({id, value: await kCalls[name](...args)});
  } catch (error) {
    // A trap (out of memory, stack overflow) leaves the module unusable.
    const dead = error instanceof WebAssembly.RuntimeError;
    self.postMessage({id, error: {message: String(error.message || error), dead,
                                  field: error.field || ''}});
  }
};
