// The page's side of the engine: a worker, and one promise per call.

class EngineError extends Error {
  constructor({message, field, dead}) {
    super(message);
    this.field = field || '';
    this.dead = Boolean(dead);
  }
}

const engine = {
  worker: null, waiting: new Map(), next: 1, lessons: [], exercises: [],
  patience: 30000,  // milliseconds until a worker that does not answer counts as dead

  /** Starts the worker. Called again after it has died. */
  async open() {
    engine.close();
    const glue = await unzipped(byName('glue').textContent).text();
    const code = new Blob([glue, '\n', byName('worker').textContent], {type: 'text/javascript'});
    const address = URL.createObjectURL(code);
    engine.worker = new Worker(address);
    engine.worker.onmessage = ({data}) => engine.settle(data);
    engine.worker.onerror = event => {
      event.preventDefault();
      engine.fail(new EngineError({message: 'The engine stopped. Change a value to restart it.',
                                   dead: true}));
    };
    const module = await unzipped(byName('module').textContent).arrayBuffer();
    const places = await unzipped(byName('places').textContent).json();
    const found = await engine.call('open', module, places);
    URL.revokeObjectURL(address);
    Object.assign(engine, found);
  },

  close() {
    if (engine.worker) engine.worker.terminate();
    engine.worker = null;
    engine.fail(new EngineError({message: 'The engine was stopped.'}));
  },

  call(name, ...args) {
    if (!engine.worker) return Promise.reject(new EngineError({message: 'no engine', dead: true}));
    const id = engine.next++;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => engine.settle({id, error: {
        message: 'The engine did not answer, and was restarted. Change a value to go on.',
        dead: true}}), engine.patience);
      engine.waiting.set(id, {resolve, reject, late});
      engine.worker.postMessage({id, name, args});
    });
  },

  settle({id, value, error}) {
    const call = engine.waiting.get(id);
    if (!call) return;
    engine.waiting.delete(id);
    clearTimeout(call.late);
    if (error) call.reject(new EngineError(error));
    else call.resolve(value);
  },

  fail(error) {
    const calls = [...engine.waiting.values()];
    engine.waiting.clear();
    for (const call of calls) {
      clearTimeout(call.late);
      call.reject(error);
    }
  },
};

function byName(id) { return document.getElementById(id); }

/** Gzipped data in base64, as a Response. */
function unzipped(text) {
  const zipped = new Blob([unpacked(text)]).stream();
  return new Response(zipped.pipeThrough(new DecompressionStream('gzip')));
}

/** Base64 → bytes. */
function unpacked(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text.trim()), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
