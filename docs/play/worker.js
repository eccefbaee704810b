// The engine's side: runs in a worker, calls the C interface in examples/play/play.h.
// `Gradus` is defined by the glue code before this file. Messages: {id, name, args} in,
// {id, value} or {id, error} out.

const kGlue = {engine: null};

/** Calls a function of numbers that returns a string, or 0 after a failure. */
function play(name, ...numbers) {
  const at = kGlue.engine[`_play_${name}`](...numbers);
  if (!at) throw failure();
  return kGlue.engine.UTF8ToString(at);
}

function failure() {
  const said = JSON.parse(play('error'));
  return Object.assign(new Error(said.message), {field: said.field});
}

/** "file:line" of a code offset within a lesson, otherwise "". */
function placeOf({files, table}, offset) {
  let low = 0, high = table.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (table[middle][0] <= offset) low = middle;
    else high = middle;
  }
  const [begin, file, line] = table[low] || [];
  return begin <= offset && file >= 0 ? `${files[file]}:${line}` : '';
}

const kCalls = {
  async open(wasmBinary, places) {
    const locate = offset => placeOf(places, offset);
    kGlue.engine = await Gradus({wasmBinary, locate, print() {}, printErr() {}});
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
    const trace = play('step', 1);
    const {engine} = kGlue;
    return {trace, text: play('text'), loss: engine._play_loss(), passes: engine._play_passes()};
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
  /** Bytes of memory that the engine has taken from the browser. */
  memory() { return kGlue.engine.HEAPF64.byteLength; },
  picture() { return JSON.parse(play('picture')); },
  check(exercise, choice) {
    return JSON.parse(play('check', exercise, choice));
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
