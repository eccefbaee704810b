// Helpers for tests of the page: a small recording, the page assembled as by the recorder, and
// Chromium driven through its DevTools pipe. Uses only Node's standard library.
'use strict';
const crypto = require('crypto'), fs = require('fs'), os = require('os'), path = require('path'), vm = require('vm');
const {execFileSync, spawn} = require('child_process');

const kViewer = path.join(__dirname, '../../../trace/viewer');
// In the order of tools/cmake/GradusEmbedded.cmake.
const kScripts = ['trace', 'arithmetic', 'draw', 'equation', 'frame', 'math', 'provenance', 'rules',
  'study', 'views', 'app'];
const read = name => fs.readFileSync(path.join(kViewer, name), 'utf8');

/** Returns the page's functions that need no DOM. */
function pure() {
  const names = ['crc32', 'decode', 'openTape', 'values', 'short', 'stridesOf', 'flatOf', 'indexOf', 'broadcastFlat',
    'memoryOf', 'reshapeInstead', 'treeRows', 'rowOf', 'align', 'compare', 'difference', 'cellArithmetic', 'entryHolds', 'erf',
    'gradOf', 'labelsFor', 'question', 'graphOf', 'colourOf', 'luminance', 'inkOn', 'scaleOf', 'sliceOf',
    'gdbCommand', 'write', 'read', 'Table', 'kUnary', 'partials', 'cellOf', 'call', 'windowAt', 'flowRows', 'pathsOf', 'equationOps',
    'linesOf', 'symbolOf', 'sourcesOf', 'usesOf', 'nearest', 'twinTensors', 'mathTokens'];
  const code = kScripts.map(n => read(n + '.js')).join('\n');
  return vm.runInThisContext(`(function () { ${code}\nreturn {${names.join(', ')}}; })`)();
}

const f64 = numbers => ({f64: Buffer.from(new Float64Array(numbers).buffer).toString('base64')});
const f32 = numbers => ({f32: Buffer.from(new Float32Array(numbers).buffer).toString('base64')});
const escaped = json => JSON.stringify(json).replace(/[<>&]/g, c => '\\u00' + c.charCodeAt(0).toString(16));

const kColumns = {
  tensors: ['kind', 'shape', 'values', 'dtype', 'storage', 'offset', 'strides', 'name'],
  ops: ['op', 'in', 'out', 'module', 'stack', 'saved', 'within', 'node'],
  modules: ['path', 'type', 'parent'], walks: ['outputs', 'seeds', 'within', 'create_graph'],
  visits: ['op', 'walk', 'dy', 'name'],
  ledger: ['visit', 'input', 'to', 'contribution', 'before', 'after', 'k', 'of', 'part'],
  hooks: ['to', 'walk', 'before', 'after'], deposits: ['leaf', 'walk', 'arrived', 'before', 'after'],
  updates: ['name', 'before', 'after', 'grad', 'rate', 'optimiser'], frames: ['file', 'line', 'function'],
  stacks: ['user', 'layer', 'frames'], sources: ['file', 'first', 'lines'],
};
class Sample {
  constructor(title = 'a sample') {
    this.tape = {schema: 'gradus-tape/1', meta: {title, program: 'build/release/10_attention', notes: []}, failure: null,
                 labels: {}, shapes: [], values: [], attention: [], opdefs: {}, files: []};
    for (const [name, columns] of Object.entries(kColumns)) this.tape[name] = {columns, rows: []};
  }
  add(table, ...row) { return this.tape[table].rows.push(row) - 1; }
  shape(s) {
    const at = this.tape.shapes.findIndex(x => String(x) === String(s) && x.length === s.length);
    return at >= 0 ? at : this.tape.shapes.push(s) - 1;
  }
  tensor(kind, shape, numbers, name = null, more = {}) {
    const v = numbers && this.tape.values.push(more.f32 ? f32(numbers) : f64(numbers)) - 1;
    const id = this.tape.tensors.rows.length;
    return this.add('tensors', kind, this.shape(shape), v, more.f32 ? 'f32' : 'f64', more.storage ?? id, more.offset ?? 0,
                    more.strides ? this.shape(more.strides) : null, name);
  }
}

/** Records y = softmax(x wᵀ) of x [2, 2] and w [3, 2], and the backward pass from dy. */
function sample() {
  const s = new Sample('softmax(x wᵀ) </script><img src=x onerror=alert(1)>');
  const x = [1, 2, -1, 0.5], w = [0.5, -1, 2, 0.25, 0, 1], dy = [1, 0, -1, 0.5, 2, 0];
  const z = [], y = [], dz = [], dx = [0, 0, 0, 0], dw = [0, 0, 0, 0, 0, 0];
  for (let r = 0; r < 2; ++r) {
    for (let c = 0; c < 3; ++c) z.push(x[2 * r] * w[2 * c] + x[2 * r + 1] * w[2 * c + 1]);
    const e = z.slice(3 * r).map(Math.exp), total = e[0] + e[1] + e[2];
    y.push(...e.map(n => n / total));
    const inner = [0, 1, 2].reduce((n, c) => n + y[3 * r + c] * dy[3 * r + c], 0);
    for (let c = 0; c < 3; ++c) dz.push(y[3 * r + c] * (dy[3 * r + c] - inner));
    for (let c = 0; c < 3; ++c) for (let k = 0; k < 2; ++k) {
      dx[2 * r + k] += dz[3 * r + c] * w[2 * c + k];
      dw[2 * c + k] += dz[3 * r + c] * x[2 * r + k];
    }
  }
  const [tx, tw] = [s.tensor('leaf', [2, 2], x, 'x'), s.tensor('param', [3, 2], w, 'net.weight')];
  const [tz, ty] = [s.tensor('result', [2, 3], z), s.tensor('result', [2, 3], y)];
  const seed = s.tensor('grad', [2, 3], dy), tdz = s.tensor('grad', [2, 3], dz);
  const [tdx, tdw] = [s.tensor('grad', [2, 2], dx), s.tensor('grad', [3, 2], dw)];
  const root = s.add('modules', '', 'Net', null), layer = s.add('modules', 'net', 'Linear', root);
  s.tape.files.push('examples/sample.cpp');
  s.add('frames', 0, 3, 'main'), s.add('stacks', 0, null, [0]);
  s.add('sources', 0, 1, ['int main() {', '  Tensor x;', '  softmax(linear(x, w));', '}']);
  s.tape.opdefs.softmax = {file: 'ops/softmax.cpp', first: 1, forward: 2, backward: 3,
                           lines: ['// y = softmax x, dx = y (dy − Σ y dy)', 'forward', 'backward'],
    derivation: ['y_ri = exp(x_ri) / Σ_j exp(x_rj)', 'dx_ri = Σ_j dy_j ∂y_j/∂x_i  ⟵ definition']};
  s.add('ops', 'linear', [tx, tw, null], tz, layer, 0, [tx, tw], null, 4);
  s.add('ops', 'softmax', [tz], ty, root, 0, [ty], null, 5);
  const walk = s.add('walks', [ty], [seed], null, false);
  s.add('visits', 1, walk, seed, 'softmax'), s.add('visits', 0, walk, tdz, 'linear');
  s.add('ledger', 0, 0, tz, tdz, null, tdz, 1, 1, null);
  s.add('ledger', 1, 0, tx, tdx, null, tdx, 1, 1, null), s.add('ledger', 1, 1, tw, tdw, null, tdw, 1, 1, null);
  s.add('deposits', tx, walk, tdx, null, tdx), s.add('deposits', tw, walk, tdw, null, tdw);
  const after = s.tensor('param', [3, 2], w.map((n, i) => n - 0.1 * dw[i]), 'net.weight');
  s.add('updates', 'net.weight', tw, after, tdw, 0.1, 'SGD');
  s.tape.attention.push({op: 1, module: root, scores: tz, masked: null, weights: ty, out: null, dweights: seed, dscores: tdz});
  s.tape.labels = {T: ['cat', '<b>'], S: ['the', 'cat', 'sat']};
  return s.tape;
}

/** Records attention of two queries over three keys with D = 4 as basic ops. */
function attention() {
  const s = new Sample('attention'), range = n => [...Array(n).keys()];
  const q = range(8).map(i => i % 3 - 1), k = range(12).map(i => (i * 5 % 7 - 3) / 2), v = range(6);
  const kT = range(12).map(i => k[4 * (i % 3) + Math.floor(i / 3)]);
  const product = (a, b, rows, inner, columns) => range(rows * columns).map(i => {
    const row = Math.floor(i / columns) * inner, column = i % columns;
    return range(inner).reduce((n, j) => n + a[row + j] * b[j * columns + column], 0);
  });
  const qk = product(q, kT, 2, 4, 3), scores = qk.map(x => x / 2), e = scores.map(Math.exp);
  const total = row => e[3 * row] + e[3 * row + 1] + e[3 * row + 2];
  const weights = e.map((x, i) => x / total(Math.floor(i / 3)));
  const [tq, tk] = [s.tensor('leaf', [2, 4], q), s.tensor('leaf', [3, 4], k)];
  const tkT = s.tensor('result', [4, 3], kT, null, {storage: tk, strides: [1, 4]});
  const [tqk, ts, tw] = [qk, scores, weights].map(x => s.tensor('result', [2, 3], x));
  const tv = s.tensor('leaf', [3, 2], v);
  const out = s.tensor('result', [2, 2], product(weights, v, 2, 3, 2));
  s.add('ops', 'permute', [tk], tkT), s.add('ops', 'matmul', [tq, tkT], tqk);
  s.add('ops', 'scale', [tqk], ts), s.add('ops', 'softmax', [ts], tw);
  s.add('ops', 'matmul', [tw, tv], out);
  s.tape.attention.push({op: 3, module: null, scores: ts, weights: tw, out});
  return s.tape;
}

/** Records a chain of n additions in 50 layers, forward and backward. */
function chain(n) {
  const s = new Sample(`${n} operations`);
  const one = s.tensor('input', [2], [1, 1]), grad = s.tensor('grad', [2], [1, 1]);
  s.add('modules', '', 'Chain', null);
  for (let m = 0; m < 50; ++m) s.add('modules', `block.${m}`, 'Block', 0);
  let at = s.tensor('leaf', [2], [0, 0], 'start');
  for (let i = 0; i < n; ++i) {
    const y = s.add('tensors', 'result', 0, i < 1000 ? s.tape.values.push(f32([i + 1, i + 1])) - 1 : null, 'f32', i + 9, 0, null, null);
    s.add('ops', 'add', [at, one], y, 1 + Math.floor(i * 50 / n));
    at = y;
  }
  s.add('walks', [at], [grad], null, false);
  for (let i = n - 1; i >= 0; --i) {
    const visit = s.add('visits', i, 0, grad, 'add');
    s.add('ledger', visit, 0, s.tape.ops.rows[i][1][0], grad, null, grad, 1, 1);
  }
  return s.tape;
}

const script = () => kScripts.map(n => read(n + '.js') + '\n').join('');

/** Returns the page as trace/page.cpp writes it. */
function page(tape, {crc, other} = {}) {
  const payload = typeof tape === 'string' ? tape : escaped(tape);
  const style = read('style.css') + '\n', hash = text => crypto.createHash('sha256').update(text).digest('base64');
  const parts = {STYLE: style, SCRIPT: script(), PAYLOAD: payload, TITLE: 'a trace', SCRIPTHASH: hash(script()),
    STYLEHASH: hash(style), CRC32: crc || pure().crc32(payload),
    OTHER: other ? `<script type="application/json" id="other">${escaped(other)}</script>` : ''};
  return read('page.html').replace(/@([A-Z0-9]+)@/g, (all, name) => parts[name] ?? all);
}

// ---- a browser ----
const kBrowsers = ['chromium', 'chromium-browser', 'google-chrome'];
function findBrowser() {
  for (const folder of (process.env.PATH || '').split(':'))
    for (const name of kBrowsers) if (fs.existsSync(path.join(folder, name))) return path.join(folder, name);
  return null;
}

class Browser {
  static async open() {
    const b = new Browser();
    b.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gradus-page-'));
    b.process = spawn(findBrowser(), ['--headless', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
      '--no-first-run', '--disable-dev-shm-usage', '--allow-file-access-from-files', `--user-data-dir=${b.folder}/profile`,
      '--host-resolver-rules=MAP * ~NOTFOUND', 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    b.next = 0, b.waiting = new Map(), b.events = [], b.buffer = [];
    b.process.stdio[4].on('data', chunk => b.take(chunk));
    b.process.on('exit', () => b.waiting.forEach(w => w.reject(new Error('the browser exited'))));
    const {targetInfos} = await b.send('Target.getTargets');
    const {sessionId} = await b.send('Target.attachToTarget', {targetId: targetInfos.find(t => t.type === 'page').targetId, flatten: true});
    b.session = sessionId;
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await b.send(domain + '.enable');
    return b;
  }
  take(chunk) {
    let end;
    while ((end = chunk.indexOf(0)) >= 0) {
      const message = JSON.parse(Buffer.concat([...this.buffer, chunk.subarray(0, end)]));
      this.buffer = [], chunk = chunk.subarray(end + 1);
      const w = this.waiting.get(message.id);
      if (!w) this.events.push(message);
      else this.waiting.delete(message.id), message.error ? w.reject(new Error(message.error.message)) : w.resolve(message.result);
    }
    this.buffer.push(chunk);
  }
  send(method, params = {}) {
    const id = ++this.next;
    this.process.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
  }
  /** Evaluates an expression in the page; awaits promises. */
  async run(expression) {
    const r = await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true});
    if (r.exceptionDetails) throw new Error(r.exceptionDetails.exception?.description || r.exceptionDetails.text);
    return r.result.value;
  }
  async until(expression, seconds = 240) {
    for (let i = 0; i < seconds * 10; ++i) {
      const value = await this.run(expression);
      if (value) return value;
      await new Promise(done => setTimeout(done, 100));
    }
    throw new Error(`timeout after ${seconds} s: ${expression}`);
  }
  /** Opens a file. Returns the milliseconds until it is drawn. */
  async visit(file, hash = '') {
    this.events = [];
    const began = Date.now();
    await this.send('Page.navigate', {url: 'about:blank'});
    await this.send('Page.navigate', {url: 'file://' + file + hash});
    await this.until('document.readyState === "complete" && location.protocol === "file:"');
    return Date.now() - began;
  }
  async visitText(text, hash) {
    const file = path.join(this.folder, `${++this.next}.html`);
    fs.writeFileSync(file, text);
    return this.visit(file, hash);
  }
  async key(key) {
    const more = {key, code: key, windowsVirtualKeyCode: key === 'Escape' ? 27 : undefined};
    await this.send('Input.dispatchKeyEvent', {type: 'keyDown', text: key.length === 1 ? key : undefined, ...more});
    await this.send('Input.dispatchKeyEvent', {type: 'keyUp', ...more});
  }
  size(width, height, {scale = 1, dark = false} = {}) {
    return Promise.all([
      this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: scale, mobile: false}),
      this.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]})]);
  }
  /** Returns unexpected console messages and network requests. */
  complaints() {
    const reported = this.events.filter(e => e.method === 'Runtime.exceptionThrown' || e.method === 'Log.entryAdded' ||
      (e.method === 'Runtime.consoleAPICalled' && /error|warning/.test(e.params.type)));
    const asked = this.events.filter(e => e.method === 'Network.requestWillBeSent' && !/^(file|data|blob|about):/.test(e.params.request.url));
    return [...reported.map(e => JSON.stringify(e.params).slice(0, 400)), ...asked.map(e => e.params.request.url)];
  }
  async screenshot(file) {
    const {data} = await this.send('Page.captureScreenshot', {format: 'png'});
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }
  async close() {
    const ended = new Promise(done => this.process.once('exit', done));
    this.send('Browser.close').catch(() => {});
    const late = setTimeout(() => this.process.kill('SIGKILL'), 10000);
    await ended;
    clearTimeout(late);
    fs.rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
  }
}

function findAxe() {
  const downloaded = path.join(__dirname, '../../../build/axe/axe_playwright_python/axe.min.js');
  if (fs.existsSync(downloaded)) return downloaded;
  try {
    const found = execFileSync('python3', ['-c', 'import importlib.util as u; print(u.find_spec("axe_playwright_python").origin)'],
                               {stdio: ['ignore', 'pipe', 'ignore']}).toString().trim();
    return path.join(path.dirname(found), 'axe.min.js');
  } catch { return ''; }
}
function needAxe() {
  if (!fs.existsSync(findAxe())) skip('axe-core is not installed: pip install axe-playwright-python (./test.sh --all does)');
}
/** Returns the accessibility problems that axe-core finds in the current page. */
async function violations(b) {
  await b.run(fs.readFileSync(findAxe(), 'utf8') + ';0');
  const found = await b.run('axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations)');
  return found.map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 200)).join(' | ')}`);
}

/** Runs the cases of a file. Prints failures and exits with 1 if there are any. */
async function run(cases, after = () => {}) {
  let failed = 0;
  for (const [name, test] of Object.entries(cases)) {
    try {
      await test();
      console.log(`ok    ${name}`);
    } catch (error) {
      ++failed;
      console.log(`FAILED ${name}\n${error.stack}`);
    }
  }
  await after();
  process.exit(failed ? 1 : 0);
}

/** Exits with 77 (skipped, for ctest) and an installation hint. */
function skip(hint) {
  console.log(`SKIPPED: ${hint}`);
  process.exit(77);
}

/** Runs the cases of a file, all in the same browser. */
async function runInBrowser(cases) {
  if (!findBrowser()) skip('Chromium is not installed: apt-get install chromium (./test.sh --all does)');
  const browser = await Browser.open();
  process.on('exit', () => browser.process.kill('SIGKILL'));
  await run(Object.fromEntries(Object.entries(cases).map(([name, test]) => [name, () => test(browser)])),
            () => browser.close());
}

module.exports = {pure, sample, attention, script, chain, page, escaped, Sample, Browser, findBrowser, f64, run, runInBrowser, skip, needAxe, violations};
