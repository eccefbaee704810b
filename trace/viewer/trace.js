// Decodes the recording on demand; docs/reference/trace_format.md describes its fields. Does not
// use the DOM. All files are joined into one script, a module, whose only global is `app`.

/** CRC-32 of a string's UTF-8 bytes, as 8 hexadecimal digits. */
function crc32(text) {
  const table = new Int32Array(256).map((_, n) => {
    for (let k = 0; k < 8; ++k) n = n & 1 ? (n >>> 1) ^ 0xEDB88320 : n >>> 1;
    return n;
  });
  let c = -1;
  for (const byte of new TextEncoder().encode(text)) c = table[(c ^ byte) & 255] ^ (c >>> 8);
  return ((c ^ -1) >>> 0).toString(16).padStart(8, '0');
}

const kSpecial = {nan: NaN, inf: Infinity, '-inf': -Infinity};
const number = x => typeof x === 'string' ? kSpecial[x] ?? NaN : x;

/** The values of a block {f32: base64} or {f64: base64}; null if there are none. */
function decode(block) {
  if (!block || !(block.f32 || block.f64)) return null;
  const bytes = Uint8Array.from(atob(block.f32 || block.f64), c => c.charCodeAt(0));
  return block.f32 ? new Float32Array(bytes.buffer) : new Float64Array(bytes.buffer);
}

// ---- shapes and indices ----
const range = (n, f) => Array.from({length: n}, (_, i) => f(i));
const clamp = (i, n) => Math.max(0, Math.min(n - 1, i));
const numel = shape => shape.reduce((n, s) => n * s, 1);
const shapeText = shape => shape.length ? shape.join('×') : 'one number';

function stridesOf(shape) {
  const s = new Array(shape.length);
  for (let i = shape.length - 1, n = 1; i >= 0; n *= shape[i--]) s[i] = n;
  return s;
}
const flatOf = (index, strides) => index.reduce((at, i, axis) => at + i * strides[axis], 0);
function indexOf(flat, shape) {
  const index = new Array(shape.length);
  for (let i = shape.length - 1; i >= 0; --i) {
    index[i] = flat % shape[i];
    flat = Math.floor(flat / shape[i]);
  }
  return index;
}
/** The index with `n` at one axis, which may be negative. */
const put = (index, axis, n) =>
  index.map((x, a) => a === (axis + index.length) % index.length ? n : x);
/** The flat index at which a broadcast index reads an input of `shape`. */
function broadcastFlat(index, shape) {
  let at = 0;
  const skip = index.length - shape.length;
  for (let i = 0; i < shape.length; ++i)
    at = at * shape[i] + (shape[i] === 1 ? 0 : index[skip + i]);
  return at;
}

// ---- text ----
/** A number with about `digits` digits and a real minus sign. */
function short(v, digits = 4) {
  if (Number.isNaN(v)) return 'NaN';
  if (!Number.isFinite(v)) return v > 0 ? '∞' : '−∞';
  if (v === 0) return '0';
  const size = Math.abs(v);
  let text = size >= 1e6 || size < 1e-3 ? v.toExponential(Math.max(digits - 2, 0)) :
    v.toPrecision(digits);
  if (text.includes('e+') && size < 1e6) text = String(Math.round(v));
  if (text.includes('.')) text = text.replace(/\.?0+(?=e|$)/, '');
  return text.replace('e+', 'e').replace(/-/g, '−');
}
const plural = (n, word) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;

// ---- the recording ----
/** A table {columns, rows} as objects, created on demand; `more` extends a new object. */
class Table {
  constructor(table, more) {
    Object.assign(this, {columns: [], rows: [], more, made: []}, table);
    this.length = this.rows.length;
  }
  get(id) {
    if (!Number.isInteger(id) || !this.rows[id]) return null;
    if (this.made[id]) return this.made[id];
    const row = {id};
    this.columns.forEach((c, i) => { row[c] = this.rows[id][i] ?? null; });
    if (this.more) this.more(row);
    return this.made[id] = row;
  }
  *[Symbol.iterator]() { for (let i = 0; i < this.length; ++i) yield this.get(i); }
}

/** The parsed payload with lookup tables: producers, users, steps, ledgers and modules. */
function openTape(json) {
  if (!/^gradus-tape\/1\b/.test(json.schema))
    throw new Error(`this page reads gradus-tape/1, not ${json.schema}`);
  const t = {meta: {}, labels: {}, shapes: [], values: [], attention: [], opdefs: {}, files: [],
      ...json};
  t.tensors = new Table(json.tensors, x => {
    x.shape = t.shapes[x.shape] || [];
    if (x.strides != null) x.strides = t.shapes[x.strides];
    x.block = t.values[x.values] || null;
    const stats = x.block?.stats;
    x.stats = stats && Object.fromEntries(kStats.map((k, i) => [k, number(stats[i])]));
  });
  t.tensor = id => t.tensors.get(id);
  for (const name of kTables) t[name] = new Table(json[name]);
  for (const name of ['producer', 'users', 'twin', 'entries', 'origin']) t[name] = new Map();
  t.steps = [];
  for (const op of t.ops) {
    if (op.out != null && !t.producer.has(op.out)) t.producer.set(op.out, op);
    for (const id of op.in) if (id != null) multi(t.users, id, op);
    t.steps.push({key: 'f' + op.id, dir: 'forward', op});
  }
  for (const visit of t.visits) {
    visit.gin = [];
    if (visit.op != null && !t.twin.has(visit.op)) t.twin.set(visit.op, t.steps.length);
    t.steps.push({key: 'b' + visit.id, dir: 'backward', visit, op: t.ops.get(visit.op)});
  }
  if (t.updates.length) t.steps.push({key: 'u', dir: 'update', op: null});
  t.stepAt = new Map(t.steps.map((s, i) => [s.key, i]));
  for (const {outputs, seeds} of t.walks)
    outputs.forEach((to, k) =>
      enter(t, {to, contribution: seeds[k], before: null, after: seeds[k], seed: true}));
  for (const e of t.ledger) enter(t, e);
  for (const {leaf, arrived, before, after} of t.deposits)
    enter(t, {to: leaf, contribution: arrived, before, after, deposit: true});
  for (const {to, before, after} of t.hooks)
    enter(t, {to, contribution: before, before: null, after, hook: true});
  t.tree = moduleTree(t);
  return t;
}
const kTables = ['ops', 'modules', 'walks', 'visits', 'ledger', 'hooks', 'deposits', 'updates',
  'frames', 'stacks', 'sources'];
const kStats = ['least', 'largest', 'mean', 'deviation', 'norm', 'zeros', 'NaN', 'infinite'];

function multi(map, key, value) {
  map.get(key)?.push(value) || map.set(key, [value]);
}
/** Records what was added to a tensor's gradient, and which step a gradient comes from. */
function enter(t, e) {
  multi(t.entries, e.to, e);
  const visit = t.visits.get(e.visit);
  if (visit) visit.gin.push(e);
  for (const id of [e.after, e.contribution])
    if (id != null && !t.origin.has(id)) t.origin.set(id, e);
}

/** The last recorded gradient of a tensor, or null. */
function gradOf(t, id) {
  return t.tensor(t.entries.get(id)?.at(-1).after);
}

/** True if before + contribution is exactly after, elementwise; null: not captured. */
function entryHolds(t, e) {
  const [c, b, a] = [e.contribution, e.before, e.after].map(id => t.tensor(id));
  const v = values(a), w = values(c);
  if (!v || !w || (b && !values(b)) || v.length !== w.length || e.part || e.hook) return null;
  const round = a.dtype === 'f32' ? Math.fround : x => x, old = b && values(b);
  return v.every((x, i) => {
    const y = old ? round(old[i] + w[i]) : w[i];
    return x === y || Object.is(x, y);
  });
}

/** The values of a tensor in row-major order, or null. */
function values(tensor) {
  const block = tensor?.block, v = block && (block.cached ??= decode(block));
  return v?.length === numel(tensor?.shape || []) ? v : null;
}
function normOf(tensor) {
  if (!tensor) return NaN;
  if (tensor.stats) return tensor.stats.norm;
  const v = values(tensor);
  return v ? Math.sqrt(v.reduce((n, x) => n + x * x, 0)) : NaN;
}

/** The name of a tensor: its own, or the one it has in the equation. */
function nameOf(t, id) {
  const x = t.tensor(id), made = t.producer.get(id), from = t.origin.get(id);
  if (!x || x.name) return x?.name || `tensor ${id}`;
  if (!made && from) return `gradient of ${nameOf(t, from.to)}`;
  return made && !kKeepsNames.test(made.op) ? `${symbolOf(t, id)} (${made.op})` : symbolOf(t, id);
}
const shapeIn = (t, id) => shapeText(t.tensor(id)?.shape || []);
const pathOf = (t, id) => t.modules.get(id)?.path ?? '';

/** The module tree, {kids}: kids are {module, key, kids} and {op}, in order of execution. */
function moduleTree(t) {
  const nodes = new Map(), whole = {kids: []};
  const home = id => {
    const module = t.modules.get(id);
    if (module && !nodes.has(id)) {
      nodes.set(id, {module, key: id, kids: []});
      home(module.parent).kids.push(nodes.get(id));
    }
    return nodes.get(id) || whole;
  };
  for (const op of t.ops) home(op.module).kids.push({op});
  for (const n of [whole, ...nodes.values()]) n.kids = folded(n.kids);
  return whole;
}

/** Groups the middle ones of four or more consecutive equal blocks into one {key, kids}. */
function folded(kids) {
  const kind = k => k?.module && /(^|\.)\d+$/.test(k.module.path) &&
    k.module.type + k.module.path.replace(/\d+$/, '');
  const out = [];
  for (let i = 0, end; i < kids.length; i = end) {
    for (end = i + 1; kind(kids[i]) && kind(kids[end]) === kind(kids[i]);) ++end;
    const run = kids.slice(i, end), inner = run.slice(1, -1);
    out.push(...inner.length < 2 ? run :
      [run[0], {key: `r${inner[0].key}`, kids: inner}, run.at(-1)]);
  }
  return out;
}

/** Labels of an axis, or null. Rows are labeled if their number matches; columns only in attention
    matrices, where T attends to S. */
function labelsFor(t, tensor, axis) {
  t.maps ||= new Set(t.attention.flatMap(a =>
    [a.scores, a.masked, a.weights, a.dweights, a.dscores]));
  const map = t.maps.has(tensor.id), column = axis === tensor.shape.length - 1;
  const fits = n => t.labels[n]?.length === tensor.shape[axis];
  const of = t.tensor(t.origin.get(tensor.id)?.to) || tensor;
  if (of.kind === 'param' || (column && !map)) return null;
  return t.labels[(column ? ['S', 'T'] : ['T', 'S']).find(fits)] || null;
}

/** The visible rows of the tree: its nodes with {level, at, of}. */
function treeRows(t, opened) {
  const rows = [];
  const walk = (kids, level) => kids.forEach((kid, i) => {
    rows.push({...kid, level, at: i + 1, of: kids.length});
    if (opened.has(kid.key)) walk(kid.kids, level + 1);
  });
  walk(t.tree.kids, 1);
  return rows;
}
/** The row of an op, or of the innermost module that contains it. */
function rowOf(t, rows, op) {
  const above = new Set();
  for (let id = op?.module; id != null && !above.has(id); id = t.modules.get(id)?.parent)
    above.add(id);
  const has = r => r.op ? r.op === op : r.module ? above.has(r.key) : r.kids.some(has);
  return rows.findLastIndex(has);
}

// ---- two recordings ----
/** Pairs the ops of two recordings by (module, name, occurrence). */
function align(a, b) {
  const key = (t, seen) => op => {
    const name = `${pathOf(t, op.module)}|${op.op}`, n = seen.get(name) || 0;
    seen.set(name, n + 1);
    return `${name}|${n}`;
  };
  const others = new Map(), keyB = key(b, new Map()), keyA = key(a, new Map());
  for (const op of b.ops) others.set(keyB(op), op);
  return Array.from(a.ops, op => ({a: op, b: others.get(keyA(op)) || null}));
}

/** The difference of two tensors: {same, why, at, most}; same is null if one was not captured. */
function difference(x, y) {
  if (!x || !y) return {same: null, why: 'not captured'};
  if (String(x.shape) !== String(y.shape))
    return {same: false, why: `shape ${shapeText(x.shape)} and ${shapeText(y.shape)}`};
  const v = values(x), w = values(y);
  if (!v || !w) {
    if (!x.stats || !y.stats) return {same: null, why: 'values not captured'};
    const key = Object.keys(x.stats).find(k => !Object.is(x.stats[k], y.stats[k]));
    if (!key) return {same: null, why: 'statistics are equal'};
    return {same: false, why: `${key}: ${short(x.stats[key], 7)} and ${short(y.stats[key], 7)}`};
  }
  let at = -1, most = 0;
  for (let i = 0; i < v.length; ++i) {
    if (v[i] === w[i] || Object.is(v[i], w[i])) continue;
    if (at < 0) at = i;
    most = Math.max(most, Math.abs(v[i] - w[i]) || 0);
  }
  if (at < 0) return {same: true, why: 'all recorded bits are equal'};
  return {same: false, at, most,
          why: `[${indexOf(at, x.shape)}]: ${short(v[at], 9)} and ${short(w[at], 9)}`};
}

/** Compares every tensor of a with its counterpart in b, forward then backward. */
function compare(a, b) {
  const rows = [], pairs = align(a, b);
  const push = (step, x, y, what) =>
    rows.push({step, what, x, y, ...difference(a.tensor(x), b.tensor(y))});
  for (const {a: x, b: y} of pairs) push('f' + x.id, x.out, y ? y.out : null, `${x.op} → result`);
  const other = new Map(pairs.map(p => [p.a.id, p.b]));
  for (const visit of a.visits) {
    const op = other.get(visit.op), at = op && b.twin.get(op.id), twin = b.steps[at]?.visit;
    for (const g of visit.gin) {
      const h = twin?.gin.find(e => e.input === g.input);
      push('b' + visit.id, g.contribution, h?.contribution, `gradient of ${nameOf(a, g.to)}`);
    }
  }
  return rows;
}

// ---- the memory of a tensor ----
/** The memory indices of its values, in row-major order. */
function memoryOf(tensor, most = 4096) {
  const strides = tensor.strides || stridesOf(tensor.shape);
  const n = Math.min(numel(tensor.shape), most);
  return range(n, i => (tensor.offset || 0) + flatOf(indexOf(i, tensor.shape), strides));
}
/** The same shape with contiguous strides: the result of a reshape used in place of a transpose. */
function reshapeInstead(tensor, most = 4096) {
  const n = Math.min(numel(tensor.shape), most);
  return range(n, i => (tensor.offset || 0) + i);
}
