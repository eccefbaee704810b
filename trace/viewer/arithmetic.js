// The arithmetic of one value: an expression of recorded values, its result, and its partial
// derivatives. Recomputes y[i]; dx[i] is the sum of dy[j] · ∂y[j]/∂x[i] over every y[j] that uses
// x[i]. Does not use the DOM.

// An expression: value v; derivative d[k] with respect to args[k], and size a[k] of the terms that
// cancel in it; text s() with precedence p: 3 a name or number, 2 a product, 1 a sum. The derivative
// by one of the first `linear` args depends only on the others.
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
  return made(terms.reduce((n, e) => n + e.v, 0), terms, terms.map(() => 1), 1,
      () => listed(terms, ' + '));
}
const times = (a, b) => ({linear: 2, ...made(a.v * b.v, [a, b], [b.v, a.v], 2,
    () => `${inside(a, 2)}·${inside(b, 2)}`)});
const minus = (a, b) => made(a.v - b.v, [a, b], [1, -1], 1, () => `${a.s()} − ${inside(b, 2)}`);
const over = (a, b) => ({linear: 1, ...made(a.v / b.v, [a, b], [1 / b.v, -a.v / b.v / b.v], 2,
    () => `${inside(a, 2)} / ${inside(b, 3)}`)});
const call = (name, x, v, d, a) => made(v, [x], [d], 3, () => `${name}(${x.s()})`, a && [a]);
const exp = x => call('exp', x, Math.exp(x.v), Math.exp(x.v));
const sqrt = x => call('√', x, Math.sqrt(x.v), 0.5 / Math.sqrt(x.v));
const log = x => call('ln', x, Math.log(x.v), 1 / x.v);
const square = x => made(x.v * x.v, [x], [2 * x.v], 2, () => `${inside(x, 3)}²`);
const mean = terms => over(sum(terms), constant(terms.length));

function erf(x) {  // 2/√π e^(−x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!, all terms of the same sign
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, total = x;
  for (let n = 1; n < 200; ++n) total += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * total;
}

// ---- evaluation ----
const kEps = {f64: 2 ** -52, f32: 2 ** -23, bf16: 2 ** -8, f16: 2 ** -10};

/** The derivative of e by each input cell, and the size of its terms: key → {k, i, d, a}. */
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

/** The cells on which the derivative of e by one cell depends: in a product, the other factors. */
function factorsOf(e, {k, i}) {
  const on = new Map(), done = new Set(), found = new Set();
  const reaches = x => {
    if (!on.has(x)) on.set(x, x.k === k && x.i === i || (x.args || []).map(reaches).some(Boolean));
    return on.get(x);
  };
  const add = x => {
    if (found.has(x)) return;
    found.add(x);
    (x.args || []).forEach(add);
  };
  (function visit(x) {
    if (done.has(x) || !reaches(x)) return;
    done.add(x);
    (x.args || []).forEach((arg, n) => {
      const others = x.p === 1 || !reaches(arg) ? [] : x.args;
      others.filter((_, m) => m !== n || n >= (x.linear || 0)).forEach(add);
      visit(arg);
    });
  })(e);
  return [...found].filter(x => x.k != null);
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

const kMissing = 'not all values were recorded';

/** The interpretation of an op that matches its recorded values, or why there is none. */
function readingOf(t, op) {
  if (op.reading) return op.reading;
  const out = t.tensor(op.out), x = new Operands(op.in.map(id => t.tensor(id)));
  const y = values(out), eps = out ? kEps[out.dtype] || 2 ** -52 : 0;
  if (!y || !y.length || x.data.some((d, k) => x.there[k] && !d))
    return op.reading = {why: kMissing};
  const n = y.length, probes = [0, n >> 1, n - 1, (n / 3) | 0];
  const a = t.attention.find(a => a.op === op.id);
  const scores = t.tensor(a?.scores), masked = t.tensor(a?.masked);
  op.maps = values(scores) && {shape: scores.shape, scores: values(scores), masked: values(masked)};
  const ways = waysOf(op, x, out.shape, y), from = t.tensor(op.in[0]);
  if (from && from.storage != null && from.storage === out.storage)
    ways.unshift(viewWay(from, out));
  if (!ways.length) return op.reading = {why: `the page has no arithmetic for ${op.op}`};
  const at = (way, i) => judged(way.cell(indexOf(i, out.shape), y[i], y), y[i], eps);
  const fits = way => {
    try { return probes.every(i => at(way, i).agrees); } catch { return false; }
  };
  const way = ways.find(fits) || (kCertain.test(op.op) && ways[0]);
  if (!way) return op.reading = {why: `the page has no arithmetic for these options of ${op.op}`};
  return op.reading = {way, shape: out.shape, y, eps, at: i => at(way, i)};
}

/** y[i] of an op: {e, value, recorded, agrees, parts, note}, or {why}. */
function forwardCell(t, op, i) {
  const r = readingOf(t, op);
  if (r.why) return r;
  try {
    return {...r.at(i), note: r.way.note};
  } catch { return {why: 'its shapes are not supported'}; }
}

/** For every cell of every input, the y[j] that use it. Cached per op. */
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

/** The gradient that input e.input of an op received, in the input's shape. */
function received(t, e) {
  const to = t.tensor(e.to), whole = t.tensor(e.contribution), after = values(t.tensor(e.after));
  if (!e.part && String(whole.shape) === String(to.shape))
    return {dtype: whole.dtype, v: values(whole), noise: null};
  const before = values(t.tensor(e.before));
  if (!after || (e.before != null && !before)) return {v: null};
  return {dtype: to.dtype, v: before ? after.map((x, i) => x - before[i]) : after,
      noise: before && after};
}

/** The forward cells in ∂y[j]/∂x[i], where x is input k of an op: those that the op saved. */
function factorCells(op, k, i, j) {
  const {way, shape, y} = op.reading, kept = op.saved || op.in;
  const found = factorsOf(way.cell(indexOf(j, shape), y[j], y), {k, i});
  const cells = found.map(x => [op.in[x.k], x.i]).filter(([id]) => kept.includes(id));
  return found.length && !cells.length && kept.includes(op.out) ? [[op.out, j]] : cells;
}

/** dx[i] of a ledger entry, Σ dy[j] · ∂y[j]/∂x[i]: {e, value, recorded, agrees, parts} or {why}. */
function backwardCell(t, entry, i) {
  const visit = t.visits.get(entry.visit), op = visit && t.ops.get(visit.op), dy = visit &&
      values(t.tensor(visit.dy));
  if (!op || !dy) return {why: kMissing};
  try {
    const got = received(t, entry), paths = pathsOf(t, op);
    if (!got.v) return {why: kMissing};
    if (paths.why) return paths;
    if (op.op === 'dropout' && values(t.tensor(entry.to))[i] === 0)
      return {why: 'the input is 0, so y is 0 whether kept or dropped'};
    const uses = paths.map.get(entry.input * 2 ** 32 + i) || [], eps = kEps[got.dtype] || 2 ** -52;
    const e = uses.length ? sum(uses.map(u => times(cellOf(0, u.j, dy[u.j]), constant(u.d)))) :
        constant(0);
    const size = uses.reduce((n, u) => n + Math.abs(dy[u.j] * u.a),
        got.noise ? Math.abs(got.noise[i]) : 0);
    return {e, value: e.v, recorded: got.v[i], parts: partials(e),
        note: 'Σ dy · ∂y/∂x, over every y that uses this x',
        factors: () => uses.flatMap(u => factorCells(op, entry.input, i, u.j)),
        agrees: close(e.v, got.v[i], eps, size, 64 + uses.length)};
  } catch { return {why: 'its shapes are not supported'}; }
}

/** The arithmetic of any value: {e, value, recorded, agrees, parts, note, step}; `from`: the
    tensors that `parts` index; `factors`: the forward cells in the factors of a gradient. */
function cellArithmetic(t, id, i) {
  const op = t.producer.get(id), entry = t.origin.get(id), kind = (t.tensor(id) || {}).kind;
  if (op) return {...forwardCell(t, op, i), from: op.in, step: 'f' + op.id};
  const leaf = kind === 'param' || kind === 'leaf';
  if (!entry && leaf) return {why: 'a leaf, which no operation computed'};
  if (!entry) return {why: 'no recorded operation computed it'};
  const first = entry.before == null && entry.after === id;
  if (entry.visit != null && (entry.contribution === id || first)) {
    const visit = t.visits.get(entry.visit), to = t.tensor(entry.to);
    const same = !to || numel(t.tensor(id).shape) === numel(to.shape);
    if (same && !entry.part)
      return {...backwardCell(t, entry, i), from: [visit.dy], step: 'b' + visit.id};
    return {why: 'a part or a broadcast shape: the input gets its sum', step: 'b' + visit.id};
  }
  if (entry.seed) return {why: 'the initial gradient of backward'};
  const [c, b, a] = [entry.contribution, entry.before, entry.after].map(k => values(t.tensor(k)));
  if (!c || !b || !a || c.length !== a.length) return {why: 'the sum of its ledger entries'};
  const e = sum([cellOf(0, i, b[i]), cellOf(1, i, c[i])]);
  return {...judged(e, a[i], kEps[t.tensor(id).dtype] || 0), note: 'before + contribution',
      from: [entry.before, entry.contribution]};
}
