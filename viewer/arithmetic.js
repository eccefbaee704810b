// The arithmetic of one number: an expression of recorded numbers, its value, its derivative by each of them. y[i] is
// worked out again; dx[i] is the sum of dy[j] · ∂y[j]/∂x[i] over every y[j] that uses x[i]. No DOM in here.

// An expression: v its value; d[k] the derivative by args[k]; a[k] the size of what cancels in it; s() its text, p how
// tightly that binds: 3 a name or number, 2 a product, 1 a sum.
const made = (v, args, d, p, s, a) => ({v, args, d, a: a || d, p, s});
const constant = (v, text) => ({v, p: v < 0 ? 1 : 3, s: () => text || short(v)});
const cellOf = (k, i, v) => ({v, k, i, p: v < 0 ? 1 : 3, s: () => short(v)});
const inside = (e, p) => e.p < p ? `(${e.s()})` : e.s();
const kShown = 10;

function listed(terms, by) {
  const shown = terms.slice(0, kShown).map(e => e.s()).join(by);
  return terms.length > kShown ? `${shown}${by}… ${terms.length - kShown} more` : shown;
}
function sum(terms) {
  if (terms.length === 1) return terms[0];
  return made(terms.reduce((n, e) => n + e.v, 0), terms, terms.map(() => 1), 1, () => listed(terms, ' + '));
}
const times = (a, b) => made(a.v * b.v, [a, b], [b.v, a.v], 2, () => `${inside(a, 2)}·${inside(b, 2)}`);
const minus = (a, b) => made(a.v - b.v, [a, b], [1, -1], 1, () => `${a.s()} − ${inside(b, 2)}`);
const over = (a, b) => made(a.v / b.v, [a, b], [1 / b.v, -a.v / b.v / b.v], 2,
    () => `${inside(a, 2)} / ${inside(b, 3)}`);
const call = (name, x, v, d, a) => made(v, [x], [d], 3, () => `${name}(${x.s()})`, a && [a]);
const exp = x => call('exp', x, Math.exp(x.v), Math.exp(x.v));
const sqrt = x => call('√', x, Math.sqrt(x.v), 0.5 / Math.sqrt(x.v));
const log = x => call('ln', x, Math.log(x.v), 1 / x.v);
const square = x => made(x.v * x.v, [x], [2 * x.v], 2, () => `${inside(x, 3)}²`);
const mean = terms => over(sum(terms), constant(terms.length));

function erf(x) {  // 2/√π e^(−x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!, terms of one sign
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, total = x;
  for (let n = 1; n < 200; ++n) total += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * total;
}

// name → x ↦ [value, derivative, size of what cancels in the derivative]
const sigma = x => 1 / (1 + Math.exp(-x));
const bell = x => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
const kUnary = {
  relu: x => [Math.max(x, 0), x > 0 ? 1 : 0],
  exp: x => [Math.exp(x), Math.exp(x)],
  log: x => [Math.log(x), 1 / x],
  sin: x => [Math.sin(x), Math.cos(x)],
  cos: x => [Math.cos(x), -Math.sin(x)],
  tanh: x => [Math.tanh(x), 1 - Math.tanh(x) ** 2, 1 + Math.tanh(x) ** 2],
  sigmoid: x => [sigma(x), sigma(x) * (1 - sigma(x)), sigma(x)],
  erf: x => [erf(x), 2 / Math.sqrt(Math.PI) * Math.exp(-x * x)],
  square: x => [x * x, 2 * x],
  sqrt: x => [Math.sqrt(x), 0.5 / Math.sqrt(x)],
  rsqrt: x => [1 / Math.sqrt(x), -0.5 * x ** -1.5],
  reciprocal: x => [1 / x, -1 / x / x],
  abs: x => [Math.abs(x), Math.sign(x)],
  negative: x => [-x, -1],
  silu: x => [x * sigma(x), sigma(x) * (1 + x * (1 - sigma(x))), 1 + Math.abs(x)],
  softplus: x => [x > 30 ? x : Math.log1p(Math.exp(x)), sigma(x)],
  gelu_erf: x => [x * (1 + erf(x / Math.SQRT2)) / 2, (1 + erf(x / Math.SQRT2)) / 2 + x * bell(x), 1 + Math.abs(x)],
  gelu: x => {
    const c = Math.sqrt(2 / Math.PI), h = Math.tanh(c * (x + 0.044715 * x ** 3));
    return [x * (1 + h) / 2, (1 + h) / 2 + x / 2 * (1 - h * h) * c * (1 + 0.134145 * x * x), 1 + x * x];
  },
};
const kBinary = {
  add: (a, b) => sum([a, b]), subtract: minus, multiply: times, divide: over,
  maximum: (a, b) => extreme('max', [a, b]), minimum: (a, b) => extreme('min', [a, b]),
};
function extreme(name, terms) {  // those that are equal share the gradient
  const v = Math[name](...terms.map(e => e.v)), ties = terms.filter(e => e.v === v).length;
  return made(v, terms, terms.map(e => e.v === v ? 1 / ties : 0), 3, () => `${name}(${listed(terms, ', ')})`);
}

/** The inputs of an operation as expressions: x(k, flat). */
class Operands {
  constructor(tensors) {
    this.shapes = tensors.map(t => t ? t.shape : []);
    this.data = tensors.map(values);
    this.there = tensors.map(Boolean);
  }
  at(k, flat) { return cellOf(k, flat, this.data[k][flat]); }
  spread(k, index) { return this.at(k, broadcastFlat(index, this.shapes[k])); }
}

/** The cells of input 0 with the index `index` but every value along `axes`. */
function group(x, index, axes) {
  let found = [index];
  for (const axis of axes)
    found = found.flatMap(i => range(x.shapes[0][axis], n => put(i, axis, n)));
  const strides = stridesOf(x.shapes[0]);
  return found.map(i => x.at(0, flatOf(i, strides)));
}

/** Axis sets over which `from` may have been reduced to `to`, with the index of x that an index of y means. */
function reductions(from, to) {
  const ways = [];
  for (let bits = 1; bits < 1 << Math.min(from.length, 6); ++bits) {
    const axes = [...from.keys()].filter(a => bits >> a & 1);
    const kept = from.map((s, a) => axes.includes(a) ? 1 : s), gone = from.filter((_, a) => !axes.includes(a));
    if (String(kept) === String(to)) ways.push({axes, lift: i => i.map((n, a) => axes.includes(a) ? 0 : n)});
    else if (String(gone) === String(to)) {
      const rest = [...from.keys()].filter(a => !axes.includes(a));
      ways.push({axes, lift: i => from.map((_, a) => axes.includes(a) ? 0 : i[rest.indexOf(a)])});
    }
  }
  if (!from.length) ways.push({axes: [], lift: () => []});
  return ways.sort((a, b) => b.axes.length - a.axes.length);
}
const kReduce = {
  sum, mean,
  prod: terms => terms.reduce(times),
  max: terms => extreme('max', terms), min: terms => extreme('min', terms),
  norm: terms => sqrt(sum(terms.map(square))),
  logsumexp: terms => log(sum(terms.map(exp))),
  var: (terms, correction) => spread(terms, correction), std: (terms, correction) => sqrt(spread(terms, correction)),
};
function spread(terms, correction) {
  const m = mean(terms);
  return over(sum(terms.map(e => square(minus(e, m)))), constant(terms.length - correction));
}

const alongAxes = (x, rule) => [...x.shapes[0].keys()].reverse().map(a =>
  ({note: `along axis ${a}`, cell: i => rule(group(x, i, [a]), i[a])}));

// name → (op, operands, shape of y) ↦ ways to read it: [{cell: index of y → expression, note}], likeliest first.
const kRules = {
  softmax: (op, x) => alongAxes(x, (row, n) => {
    const m = Math.max(...row.map(e => e.v)), e = row.map(r => exp(minus(r, constant(m))));
    return over(e[n], sum(e));
  }),
  log_softmax: (op, x) => alongAxes(x, (row, n) => {
    const m = constant(Math.max(...row.map(e => e.v)));
    return minus(minus(row[n], m), log(sum(row.map(r => exp(minus(r, m))))));
  }),
  matmul: (op, x) => {
    const [a, b] = x.shapes, inner = a[a.length - 1];
    return [{note: `${inner} products`, cell: i => {
      const row = a.length > 1, column = b.length > 1, lead = i.slice(0, i.length - row - column);
      return sum(range(inner, n => times(
        x.spread(0, row ? [...lead, i[i.length - 1 - column], n] : [n]),
        x.spread(1, column ? [...lead, n, i[i.length - 1]] : [n]))));
    }}];
  },
  weighted_sum: (op, x) => kRules.matmul(op, x),
  pair_products: (op, x) => [{note: 'a query times a key', cell: i => sum(range(x.shapes[0].at(-1), n =>
    times(x.spread(0, put(i, -1, n)), x.spread(1, [...i.slice(0, -2), i.at(-1), n]))))}],
  linear: (op, x) => {
    const inner = x.shapes[1][1];
    return [{note: `${inner} products${x.there[2] ? ' and the bias' : ''}`, cell: i => {
      const o = i[i.length - 1];
      const terms = range(inner, n => times(x.spread(0, put(i, -1, n)), x.at(1, o * inner + n)));
      return sum(x.there[2] ? [...terms, x.at(2, o)] : terms);
    }}];
  },
  layer_norm: (op, x) => normWays(op, x, true),
  rms_norm: (op, x) => normWays(op, x, false),
  embedding: (op, x) => [{note: 'row number = token', cell: i => x.at(0,
    x.data[1][flatOf(i.slice(0, -1), stridesOf(x.shapes[1]))] * x.shapes[0][1] + i.at(-1))}],
  index_select: (op, x, shape) => shape.map((_, a) => ({note: `along axis ${a}`, cell: i =>
    x.at(0, flatOf(put(i, a, x.data[1][i[a]]), stridesOf(x.shapes[0])))})),
  where: (op, x) => [{cell: i => x.spread(0, i).v ? x.spread(1, i) : x.spread(2, i)}],
  masked_fill: (op, x) => [{cell: (i, y) => x.there[1] && !x.spread(1, i).v ? x.spread(0, i) : constant(y,
      'the fill')}],
  dropout: (op, x) => scaled(x, true), scale: (op, x) => scaled(x, false),
  shift: (op, x, shape, y) => {
    const c = y[0] - x.data[0][0];
    return [{note: `constant ${short(c)}, read off the first number`, cell: i => sum([x.spread(0, i), constant(c)])}];
  },
  swiglu: (op, x) => [{cell: i => times(call('silu', x.spread(0, i), ...kUnary.silu(x.spread(0, i).v)),
      x.spread(1, i))}],
  clone: same, contiguous: same, to: same, reshape: same, expand: same,
  cat: (op, x, shape) => shape.map((_, a) => ({note: `along axis ${a}`, cell: i => {
    let k = 0, n = i[a];
    while (n >= x.shapes[k][a]) n -= x.shapes[k++][a];
    return x.at(k, flatOf(put(i, a, n), stridesOf(x.shapes[k])));
  }})),
  cross_entropy: (op, x) => {
    const n = x.shapes[0].at(-1), rows = numel(x.shapes[0]) / n, kept = [...Array(rows).keys()].filter(
      r => x.data[1][r] >= 0 && x.data[1][r] < n);
    return [{note: `mean of ${kept.length} rows: ln Σ exp(logits) − logit of the target`,
        cell: () => mean(kept.map(r => {
      const row = range(n, c => x.at(0, r * n + c)), m = constant(Math.max(...row.map(e => e.v)));
      return minus(log(sum(row.map(e => exp(minus(e, m))))), minus(row[x.data[1][r]], m));
    }))}];
  },
  attention: headWay, packed_attention: headWay,
};
function same(op, x, shape) {
  return [{note: 'the same number', cell: i => numel(x.shapes[0]) === numel(shape) ?
      x.at(0, flatOf(i, stridesOf(shape))) : x.spread(0, i)}];
}
function scaled(x, drops) {  // the factor is no input: it is read off the largest number that came through
  return [{note: drops ? 'kept numbers are scaled up, dropped ones are 0' : 'factor read off the largest number',
           cell: (i, y, all) => {
    const from = x.data[0];
    let at = 0;
    for (let k = 0; k < from.length; ++k) if (all[k] !== 0 && Math.abs(from[k]) > Math.abs(from[at])) at = k;
    return drops && y === 0 ? constant(0) : times(x.spread(0, i), constant(from[at] ? all[at] / from[at] : 0));
  }}];
}
function normWays(op, x, centred) {
  const width = x.shapes[0].at(-1);
  return [1e-5, 1e-6, 1e-8, 1e-12, 0].map(e => ({note: `eps ${e}`, cell: i => {
    const row = group(x, i, [x.shapes[0].length - 1]), n = i.at(-1), m = centred ? mean(row) : null;
    const centre = r => m ? minus(r, m) : r, size = mean(row.map(r => square(centre(r))));
    let y = over(centre(row[n]), sqrt(sum([size, constant(e)])));
    if (x.there[1] && x.shapes[1].length) y = times(y, x.at(1, n % width));
    return x.there[2] && x.shapes[2].length ? sum([y, x.at(2, n % width)]) : y;
  }}));
}
function headWay(op, x) {  // what may be looked at, and what was added to the scores, is in the recorded matrices
  if (!op.maps) return [];
  const {shape: [, H, T, S], scores, masked} = op.maps, packed = x.shapes.length === 1,
      C = x.shapes[0].at(-1) / (packed ? 3 : 1);
  const D = packed ? C / H : C, scale = constant(1 / Math.sqrt(D));
  const at = (k, b, head, n, d) => packed ? x.at(0, ((b * T + n) * 3 + k) * C + head * D + d) : x.spread(k,
      [b, head, n, d]);
  return [{note: 'softmax(q kᵀ / √D), hidden keys left out, times v', cell: i => {
    const [b, head, n, d] = packed ? [i[0], Math.floor(i[2] / D), i[1], i[2] % D] : i,
        line = ((b * H + head) * T + n) * S;
    const seen = [...Array(S).keys()].filter(s => !masked || masked[line + s] > -Infinity);
    const terms = seen.map(s => sum([times(scale, sum(range(D, e =>
      times(at(0, b, head, n, e), at(1, b, head, s, e))))), constant(masked ? masked[line + s] - scores[line + s] :
          0)]));
    const m = constant(Math.max(...terms.map(e => e.v))), e = terms.map(r => exp(minus(r, m))), all = sum(e);
    return sum(e.map((w, k) => times(over(w, all), at(2, b, head, seen[k], d))));
  }}];
}

/** A view has no numbers of its own: it reads the same places of memory. */
function viewWay(from, to) {
  const place = new Map(memoryOf(from).map((m, i) => [m, i])), at = memoryOf(to), strides = stridesOf(to.shape);
  return {note: 'a view: the same place in memory', cell: i => cellOf(0, place.get(at[flatOf(i, strides)]),
      values(to)[flatOf(i, strides)])};
}
function waysOf(op, x, shape, y) {
  if (kUnary[op.op] && x.shapes.length === 1)
    return [{cell: i => { const e = x.spread(0, i); return call(op.op, e, ...kUnary[op.op](e.v)); }}];
  if (kBinary[op.op] && x.shapes.length === 2) return [{cell: i => kBinary[op.op](x.spread(0, i), x.spread(1, i))}];
  if (kReduce[op.op]) return reductions(x.shapes[0], shape).flatMap(({axes, lift}) => [0, 1].slice(
    op.op === 'var' || op.op === 'std' ? 0 : 1).map(c => ({note: `over axes ${axes}`, cell: i =>
    kReduce[op.op](group(x, lift(i), axes), c)})));
  return Object.hasOwn(kRules, op.op) ? kRules[op.op](op, x, shape, y) : [];
}

// Operations without options: what does not agree, differs.
const kCertain = /^(linear|matmul|add|subtract|multiply|divide|tanh|exp|relu|sigmoid|softmax|sum|mean)$/;

// ---- evaluation ----
const kEps = {f64: 2 ** -52, f32: 2 ** -23, bf16: 2 ** -8, f16: 2 ** -10};

/** Derivative of e by each cell of the inputs, and the size of what cancels in it: key → {k, i, d, a}. */
function partials(e) {
  const found = new Map(), order = [], mark = new Set();
  (function visit(x) {
    if (mark.has(x)) return;
    mark.add(x);
    (x.args || []).forEach(visit);
    order.push(x);
  })(e);
  const grads = new Map([[e, [1, 1]]]);
  for (const x of order.reverse()) {
    const [d, a] = grads.get(x) || [0, 0];
    if (x.k != null) {
      const key = x.k * 2 ** 32 + x.i, old = found.get(key);
      found.set(key, old ? {...old, d: old.d + d, a: old.a + a} : {k: x.k, i: x.i, v: x.v, d, a});
    }
    (x.args || []).forEach((arg, n) => {
      const g = grads.get(arg) || [0, 0];
      grads.set(arg, [g[0] + d * x.d[n], g[1] + a * Math.abs(x.a[n])]);
    });
  }
  return found;
}
function close(value, recorded, eps, size, count) {
  if (Object.is(value, recorded) || value === recorded) return true;
  return Math.abs(value - recorded) <= eps * (16 + count) * (size + Math.abs(recorded)) + 1e-37;
}
function judged(e, recorded, eps) {
  const parts = partials(e);
  let size = Math.abs(e.v);
  for (const p of parts.values()) size += Math.abs(p.a * p.v) || 0;
  return {e, parts, value: e.v, recorded, agrees: close(e.v, recorded, eps, size, parts.size)};
}

const kMissing = 'not every number of this was recorded';

/** The reading of an operation that its recorded numbers bear out, or why there is none. */
function readingOf(t, op) {
  if (op.reading) return op.reading;
  const out = t.tensor(op.out), x = new Operands(op.in.map(id => t.tensor(id)));
  const y = values(out), eps = out ? kEps[out.dtype] || 2 ** -52 : 0;
  if (!y || !y.length || x.data.some((d, k) => x.there[k] && !d))
    return op.reading = {why: kMissing};
  const n = y.length, probes = [...new Set([0, n >> 1, n - 1, (n / 3) | 0])];
  const a = t.attention.find(a => a.op === op.id), [scores, masked] = [a?.scores,
      a?.masked].map(id => t.tensor(id));
  op.maps = values(scores) && {shape: scores.shape, scores: values(scores), masked: values(masked)};
  const ways = waysOf(op, x, out.shape, y), from = t.tensor(op.in[0]);
  if (from && from.storage != null && from.storage === out.storage) ways.unshift(viewWay(from, out));
  if (!ways.length) return op.reading = {why: `the page has no arithmetic for ${op.op}`};
  const at = (way, i) => judged(way.cell(indexOf(i, out.shape), y[i], y), y[i], eps);
  const fits = way => { try { return probes.every(i => at(way, i).agrees); } catch { return false; } };
  const way = ways.find(fits) || (kCertain.test(op.op) && ways[0]);
  if (!way) return op.reading = {why: `with the options that this ${op.op} has, the page has no arithmetic for it`};
  return op.reading = {way, shape: out.shape, y, eps, at: i => at(way, i)};
}

/** y[i] of an operation: {e, value, recorded, agrees, parts, note}, or {why}. */
function forwardCell(t, op, i) {
  const r = readingOf(t, op);
  if (r.why) return r;
  try { return {...r.at(i),
      note: r.way.note}; } catch { return {why: `the shapes of this ${op.op} are not understood`}; }
}

/** Which y[j] use input k's cell i, for every cell; made once for an operation. */
const kMostPaths = 3e5;
function pathsOf(t, op) {
  if (op.paths) return op.paths;
  const r = readingOf(t, op);
  if (r.why) return r;
  const paths = r.at(0).parts.size * r.y.length;
  if (paths > kMostPaths) return op.paths = {why: `${plural(paths, 'path')}: too many to list`};
  const map = new Map();
  for (let j = 0; j < r.y.length; ++j)
    for (const [key, p] of r.at(j).parts) multi(map, key, {j, d: p.d, a: p.a});
  return op.paths = {map};
}

/** What input e.input of a visited op got at i, in the input's own shape: the contribution, or after − before. */
function received(t, e) {
  const to = t.tensor(e.to), whole = t.tensor(e.contribution), after = values(t.tensor(e.after));
  if (!e.part && String(whole.shape) === String(to.shape)) return {dtype: whole.dtype, v: values(whole), noise: null};
  const before = values(t.tensor(e.before));
  if (!after || (e.before != null && !before)) return {v: null};
  return {dtype: to.dtype, v: before ? after.map((x, i) => x - before[i]) : after, noise: before && after};
}

/** dx[i] of a ledger entry: Σ dy[j] · ∂y[j]/∂x[i], as {e, value, recorded, agrees, parts}, or {why}. */
function backwardCell(t, entry, i) {
  const visit = t.visits.get(entry.visit), op = visit && t.ops.get(visit.op), dy = visit &&
      values(t.tensor(visit.dy));
  if (!op || !dy) return {why: kMissing};
  try {
    const got = received(t, entry), paths = pathsOf(t, op);
    if (!got.v) return {why: kMissing};
    if (paths.why) return paths;
    if (op.op === 'dropout' &&
        values(t.tensor(entry.to))[i] === 0) return {why: '0 going in: kept or dropped, y is 0'};
    const uses = paths.map.get(entry.input * 2 ** 32 + i) || [], eps = kEps[got.dtype] || 2 ** -52;
    const e = uses.length ? sum(uses.map(u => times(cellOf(0, u.j, dy[u.j]), constant(u.d)))) : constant(0);
    const size = uses.reduce((n, u) => n + Math.abs(dy[u.j] * u.a), got.noise ? Math.abs(got.noise[i]) : 0);
    return {e, value: e.v, recorded: got.v[i], parts: partials(e), note: 'Σ dy · ∂y/∂x, over every y that uses this x',
            agrees: close(e.v, got.v[i], eps, size, 64 + uses.length)};
  } catch { return {why: `the shapes of this ${op.op} are not understood`}; }
}

/** The arithmetic of any number: {e, value, recorded, agrees, parts, note, from: tensors that `parts` index, step}. */
function cellArithmetic(t, id, i) {
  const op = t.producer.get(id), entry = t.origin.get(id), kind = (t.tensor(id) || {}).kind;
  if (op) return {...forwardCell(t, op, i), from: op.in, step: 'f' + op.id};
  if (!entry) return {why: kind === 'param' || kind === 'leaf' ? 'a leaf: nothing made it' :
      'no recorded operation made it'};
  if (entry.contribution === id && entry.visit != null || entry.before == null && entry.after === id &&
      entry.visit != null) {
    const visit = t.visits.get(entry.visit),
        same = numel(t.tensor(id).shape) === numel(t.tensor(entry.to).shape);
    if (same && !entry.part) return {...backwardCell(t, entry, i), from: [visit.dy], step: 'b' + visit.id};
    return {why: 'a part, or larger by broadcasting: its sum is what the input got', step: 'b' + visit.id};
  }
  if (entry.seed) return {why: 'the seed: where backward begins'};
  const [c, b, a] = [entry.contribution, entry.before, entry.after].map(k => values(t.tensor(k)));
  if (!c || !b || !a || c.length !== a.length) return {why: 'the sum of what the ledger lists'};
  const e = sum([cellOf(0, i, b[i]), cellOf(1, i, c[i])]);
  return {...judged(e, a[i], kEps[t.tensor(id).dtype] || 0), note: 'before + contribution',
      from: [entry.before, entry.contribution]};
}
