// The formula of each op for one value, as an expression of its inputs' values. Options of an op
// are not recorded, so a rule lists possible interpretations; the one that matches the recorded
// values is shown.

// name → x ↦ [value, derivative, size of the terms that cancel in the derivative]
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
  sign: x => [Math.sign(x), 0],
  floor: x => [Math.floor(x), 0],
  expm1: x => [Math.expm1(x), Math.exp(x)],
  log1p: x => [Math.log1p(x), 1 / (1 + x)],
  elu: x => x > 0 ? [x, 1] : [Math.expm1(x), Math.exp(x)],
  leaky_relu: x => x > 0 ? [x, 1] : [0.01 * x, 0.01],
  isnan: x => [+Number.isNaN(x), 0],
  isfinite: x => [+Number.isFinite(x), 0],
  logical_not: x => [+!x, 0],
  negative: x => [-x, -1],
  silu: x => [x * sigma(x), sigma(x) * (1 + x * (1 - sigma(x))), 1 + Math.abs(x)],
  softplus: x => [x > 30 ? x : Math.log1p(Math.exp(x)), sigma(x)],
  gelu_erf: x => [x * (1 + erf(x / Math.SQRT2)) / 2, (1 + erf(x / Math.SQRT2)) / 2 + x * bell(x),
      1 + Math.abs(x)],
  gelu: x => {
    const c = Math.sqrt(2 / Math.PI), h = Math.tanh(c * (x + 0.044715 * x ** 3));
    return [x * (1 + h) / 2, (1 + h) / 2 + x / 2 * (1 - h * h) * c * (1 + 0.134145 * x * x),
        1 + x * x];
  },
};
const kBinary = {
  add: (a, b) => sum([a, b]), subtract: minus, multiply: times, divide: over,
  maximum: (a, b) => extreme('max', [a, b]), minimum: (a, b) => extreme('min', [a, b]),
  less: told('<', (a, b) => a < b), less_equal: told('≤', (a, b) => a <= b),
  equal: told('=', (a, b) => a === b),
  greater: told('>', (a, b) => a > b), greater_equal: told('≥', (a, b) => a >= b),
  not_equal: told('≠', (a, b) => a !== b), logical_and: told('and', (a, b) => a && b),
  logical_or: told('or', (a, b) => a || b), logical_xor: told('≠', (a, b) => !a !== !b),
};
/** A comparison: true is 1, without a gradient. */
function told(sign, f) {
  return (a, b) => made(+!!f(a.v, b.v), [a, b], [0, 0], 1,
      () => `${inside(a, 2)} ${sign} ${inside(b, 2)}`);
}
const picked = (name, f) => terms => made(f(terms.map(e => e.v)), terms, terms.map(() => 0), 3,
    () => `${name}(${listed(terms, ', ')})`);
function extreme(name, terms) {  // equal elements share the gradient
  const v = Math[name](...terms.map(e => e.v)), ties = terms.filter(e => e.v === v).length;
  return made(v, terms, terms.map(e => e.v === v ? 1 / ties : 0), 3,
      () => `${name}(${listed(terms, ', ')})`);
}

/** The inputs of an op as expressions: at(k, flat), and spread(k, index) with broadcasting. */
class Operands {
  constructor(tensors) {
    this.shapes = tensors.map(t => t ? t.shape : []);
    this.data = tensors.map(values);
    this.there = tensors.map(Boolean);
  }
  at(k, flat) { return cellOf(k, flat, this.data[k][flat]); }
  spread(k, index) { return this.at(k, broadcastFlat(index, this.shapes[k])); }
}

/** The cells of input 0 at `index`, with all values of the indices along `axes`. */
const group = (x, index, axes) => axes.reduce((found, axis) =>
  found.flatMap(i => range(x.shapes[0][axis], n => put(i, axis, n))), [index])
  .map(i => x.spread(0, i));

/** Axes over which `from` may have been reduced to `to`, and the first index of x of an index. */
function reductions(from, to) {
  const ways = from.length ? [] : [{axes: [], lift: () => []}];
  for (let bits = 1; bits < 1 << Math.min(from.length, 6); ++bits) {
    const [rest, axes] = [0, 1].map(b => [...from.keys()].filter(a => (bits >> a & 1) === b));
    const kept = from.map((s, a) => axes.includes(a) ? 1 : s), gone = rest.map(a => from[a]);
    if (String(kept) === String(to))
      ways.push({axes, lift: i => i.map((n, a) => axes.includes(a) ? 0 : n)});
    else if (String(gone) === String(to))
      ways.push({axes, lift: i => from.map((_, a) => axes.includes(a) ? 0 : i[rest.indexOf(a)])});
  }
  return ways.sort((a, b) => b.axes.length - a.axes.length);
}
const kReduce = {
  sum, sum_to: sum, mean,
  prod: terms => terms.reduce(times),
  max: terms => extreme('max', terms), min: terms => extreme('min', terms),
  argmax: picked('argmax', v => v.indexOf(Math.max(...v))),
  argmin: picked('argmin', v => v.indexOf(Math.min(...v))),
  all: picked('all', v => +v.every(Boolean)), any: picked('any', v => +v.some(Boolean)),
  norm: terms => sqrt(sum(terms.map(square))),
  logsumexp: terms => log(sum(terms.map(exp))),
  var: spread, std: (terms, correction) => sqrt(spread(terms, correction)),
};
function spread(terms, correction) {
  const m = mean(terms);
  return over(sum(terms.map(e => square(minus(e, m)))), constant(terms.length - correction));
}

/** One interpretation per axis, last axis first: cell(index of y, axis). */
const byAxis = (shape, cell) => [...shape.keys()].reverse().map(a =>
    ({note: `along axis ${a}`, cell: i => cell(i, a)}));
const alongAxes = (x, rule) => byAxis(x.shapes[0], (i, a) => rule(group(x, i, [a]), i[a]));
/** Subtracts the maximum, so that no exponential overflows. */
function lowered(row) {
  const m = constant(Math.max(...row.map(e => e.v)));
  return row.map(e => minus(e, m));
}
/** A row of −∞, all of whose keys are masked, has the softmax 0. */
function softmaxOf(row, n) {
  if (row.every(e => e.v === -Infinity)) return constant(0);
  const e = lowered(row).map(exp);
  return over(e[n], sum(e));
}
function logSoftmax(row, n) {
  const r = lowered(row);
  return minus(r[n], log(sum(r.map(exp))));
}
const same = (x, shape) => [{note: 'the same value', cell: i =>
  numel(x.shapes[0]) === numel(shape) ? x.at(0, flatOf(i, stridesOf(shape))) : x.spread(0, i)}];

// name → (operands, shape of y, y, op) ↦ interpretations, likeliest first:
// [{cell: index of y → expression, note}].
const kRules = {
  softmax: x => alongAxes(x, softmaxOf),
  log_softmax: x => alongAxes(x, logSoftmax),
  matmul: x => {
    const [a, b] = x.shapes, inner = a.at(-1), line = a.length > 1, column = b.length > 1;
    return [{note: `${inner} products`, cell: i => {
      const lead = i.slice(0, i.length - line - column), row = i[i.length - 1 - column];
      return sum(range(inner, n => times(
        x.spread(0, line ? [...lead, row, n] : [n]),
        x.spread(1, column ? [...lead, n, i.at(-1)] : [n]))));
    }}];
  },
  linear: x => [{note: `${x.shapes[1][1]} products${x.there[2] ? ' and the bias' : ''}`, cell(i) {
    const o = i.at(-1), product = n => times(x.spread(0, put(i, -1, n)), x.spread(1, [o, n]));
    const terms = range(x.shapes[1][1], product);
    return sum(x.there[2] ? [...terms, x.at(2, o)] : terms);
  }}],
  layer_norm: (x, {length}) => normWays(x, true, length - 1),
  rms_norm: (x, {length}) => normWays(x, false, length - 1),
  embedding: x => [{note: 'row index = token id', cell: i =>
    x.spread(0, [x.spread(1, i.slice(0, -1)).v, i.at(-1)])}],
  index_select: (x, shape) => byAxis(shape, (i, a) => x.spread(0, put(i, a, x.data[1][i[a]]))),
  gather: (x, shape) => byAxis(shape, (i, a) => x.spread(0, put(i, a, x.spread(1, i).v))),
  one_hot: x => [{note: '1 at the class', cell: i =>
    kBinary.equal(x.spread(0, i.slice(0, -1)), constant(i.at(-1)))}],
  cumsum: x => alongAxes(x, (line, n) => sum(line.slice(0, n + 1))),
  where: x => [{cell: i => x.spread(0, i).v ? x.spread(1, i) : x.spread(2, i)}],
  masked_fill: x => [{cell: (i, y) =>
    x.there[1] && !x.spread(1, i).v ? x.spread(0, i) : constant(y, 'the fill')}],
  dropout: x => scaled(x, true), scale: x => scaled(x, false),
  shift: (x, shape, y) => {
    const c = y[0] - x.data[0][0];
    return [{note: `constant ${short(c)}, inferred from the first value`,
        cell: i => sum([x.spread(0, i), constant(c)])}];
  },
  swiglu: x => [{cell: i => times(unary('silu', x.spread(0, i)), x.spread(1, i))}],
  clone: same, to: same, reshape: same, expand: same,
  cat: (x, shape) => byAxis(shape, (i, a) => {
    let k = 0, n = i[a];
    while (n >= x.shapes[k][a]) n -= x.shapes[k++][a];
    return x.spread(k, put(i, a, n));
  }),
  cross_entropy: x => {
    const n = x.shapes[0].at(-1), [logits, target] = x.data;
    const kept = range(logits.length / n, r => r).filter(r => target[r] >= 0 && target[r] < n);
    const loss = r => {
      const row = lowered(range(n, c => x.at(0, r * n + c)));
      return minus(log(sum(row.map(exp))), row[target[r]]);
    };
    return [{note: `mean of ${kept.length} rows: ln Σ exp(logits) − logit of the target`,
             cell: () => mean(kept.map(loss))}];
  },
  attention: headWay, packed_attention: headWay,
};
function scaled(x, drops) {  // the factor is not recorded: compute it from the largest kept value
  const note = drops ? 'kept values are scaled up, others are 0' :
    'factor inferred from the largest value';
  return [{note, cell: (i, y, all) => {
    const from = x.data[0];
    let at = 0;
    for (let k = 0; k < from.length; ++k)
      if (all[k] !== 0 && Math.abs(from[k]) > Math.abs(from[at])) at = k;
    if (drops && y === 0) return constant(0);
    return times(x.spread(0, i), constant(from[at] ? all[at] / from[at] : 0));
  }}];
}
function normWays(x, centred, axis) {  // one mean and size along `axis`
  return [1e-5, 1e-6, 1e-8, 1e-12, 0].map(e => ({note: `eps ${e}`, cell: i => {
    const row = group(x, i, [axis]), m = centred ? mean(row) : null;
    const centre = r => m ? minus(r, m) : r;
    const size = mean(row.map(r => square(centre(r))));
    let y = over(centre(x.spread(0, i)), sqrt(sum([size, constant(e)])));
    if (x.there[1] && x.shapes[1].length) y = times(y, x.at(1, i[axis]));
    return x.there[2] && x.shapes[2].length ? sum([y, x.at(2, i[axis])]) : y;
  }}));
}
function headWay(x, shape, y, {maps}) {  // masks and biases are read from the recorded matrices
  if (!maps) return [];
  const {shape: [, H, T, S], scores, masked} = maps, packed = x.shapes.length === 1;
  const width = x.shapes[0].at(-1);
  const D = packed ? width / 3 / H : width, scale = constant(1 / Math.sqrt(D));
  const at = (k, b, head, n, d) => packed ? x.spread(0, [b, n, (k * H + head) * D + d]) :
      x.spread(k, [b, head, n, d]);
  return [{note: 'softmax(q kᵀ / √D) without masked keys, times v', cell: i => {
    const [b, head, n, d] = packed ? [i[0], Math.floor(i[2] / D), i[1], i[2] % D] : i;
    const line = ((b * H + head) * T + n) * S;
    const seen = range(S, s => s).filter(s => !masked || masked[line + s] > -Infinity);
    const e = lowered(seen.map(s => sum([
      times(scale, sum(range(D, e => times(at(0, b, head, n, e), at(1, b, head, s, e))))),
      constant(masked ? masked[line + s] - scores[line + s] : 0)]))).map(exp);
    const all = sum(e);
    return sum(e.map((w, k) => times(over(w, all), at(2, b, head, seen[k], d))));
  }}];
}

/** A view: reads the same memory. */
function viewWay(from, to) {
  const place = new Map(memoryOf(from).map((m, i) => [m, i])), at = memoryOf(to);
  const strides = stridesOf(to.shape);
  return {note: 'a view: the same memory', cell: i =>
    cellOf(0, place.get(at[flatOf(i, strides)]), values(to)[flatOf(i, strides)])};
}
const unary = (name, e) =>
  ({linear: name === 'negative' ? 1 : 0, ...call(name, e, ...kUnary[name](e.v))});
function waysOf(op, x, shape, y) {
  const {op: name} = op;
  if (kUnary[name] && x.shapes.length === 1) return [{cell: i => unary(name, x.spread(0, i))}];
  if (kBinary[name] && x.shapes.length === 2)
    return [{cell: i => kBinary[name](x.spread(0, i), x.spread(1, i))}];
  if (kReduce[name]) return reductions(x.shapes[0], shape).flatMap(({axes, lift}) =>
    (/^(var|std)$/.test(name) ? [0, 1] : [1]).map(c => ({note: `over axes ${axes}`, cell: i =>
      kReduce[name](group(x, lift(i), axes), c)})));
  return Object.hasOwn(kRules, name) ? kRules[name](x, shape, y, op) : [];
}

// Ops without options: a mismatch is an error.
const kCertain =
  /^(linear|matmul|add|subtract|multiply|divide|tanh|exp|relu|sigmoid|softmax|sum|mean)$/;
