// Compares the page's functions that need no browser with values computed by hand or by naive code.
'use strict';
const assert = require('assert');
const {pure, sample, attention, Sample, f64, run, chain} = require('./support.js');
const p = pure();
const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps * (1 + Math.abs(b)), `${a} is not ${b}`);

const kX = [0.3, -1.2, 0.5, 2, -0.1, 0.7];  // [2, 3]
const total = x => x.reduce((a, b) => a + b, 0), middle = x => total(x) / x.length;
const rows = (x, f) => [...f(x.slice(0, 3)), ...f(x.slice(3))];
const scaled = (x, w, b) => x.map((v, i) => v * w[i] + (b ? b[i] : 0)), squares = x => total(x.map(v => v * v));
const centred = x => x.map(v => v - middle(x)), shares = x => x.map(v => Math.exp(v) / total(x.map(Math.exp)));
function oneHead(q, k, v) {  // causal; q, k [2, 3], v [2, 2]
  const w = [0, 1].map(t => shares([0, 1].slice(0, t + 1).map(n => total([0, 1, 2].map(d => q[3 * t + d] * k[3 * n + d])) / Math.sqrt(3))));
  return [0, 1].flatMap(t => [0, 1].map(d => total(w[t].map((p, n) => p * v[2 * n + d]))));
}
const X = [[2, 3], kX];
// [op, inputs as [shape, values], shape of y, y by naive code]
const kCases = [
  ['softmax', [X], [2, 3], x => rows(x, shares)],
  ['softmax', [[[2, 3], [-Infinity, -Infinity, -Infinity, -Infinity, 0, 1]]], [2, 3],  // a masked row
    x => [0, 0, 0, ...shares(x.slice(3))], []],
  ['log_softmax', [X], [2, 3], x => rows(x, r => shares(r).map(Math.log))],
  ['layer_norm', [X, [[3], [1, 2, 3]], [[3], [0.1, 0.2, 0.3]]], [2, 3], (x, w, b) => rows(x, r =>
    scaled(centred(r).map(v => v / Math.sqrt(squares(centred(r)) / 3 + 1e-5)), w, b))],
  ['rms_norm', [X, [[3], [1, 2, 3]]], [2, 3], (x, w) => rows(x, r => scaled(r.map(v => v / Math.sqrt(squares(r) / 3 + 1e-6)), w))],
  ['linear', [X, [[2, 3], [1, -2, 0.5, 0, 3, 1]], [[2], [0.1, 0.2]]], [2, 2], (x, w, b) => [0, 1].flatMap(r => [0, 1].map(o =>
    b[o] + total([0, 1, 2].map(n => x[3 * r + n] * w[3 * o + n]))))],
  ['matmul', [[[2, 2, 3], [...kX, ...kX]], [[3, 2], kX]], [2, 2, 2], (a, b) => [...Array(8).keys()].map(i =>
    total([0, 1, 2].map(n => a[3 * (i >> 1) + n] * b[2 * n + (i & 1)])))],
  ['embedding', [X, [[2], [1, 0]]], [2, 3], (w, ids) => ids.flatMap(n => w.slice(3 * n, 3 * n + 3)), 1],
  ['index_select', [X, [[4], [1, 0, 1, 1]]], [4, 3], (x, n) => n.flatMap(k => x.slice(3 * k, 3 * k + 3)), 1],
  ['where', [[[3], [1, 0, 1]], X, [[], [9]]], [2, 3], (c, x, y) => x.map((v, i) => c[i % 3] ? v : y[0]), 0],
  ['masked_fill', [X, [[3], [0, 1, 0]]], [2, 3], (x, m) => x.map((v, i) => m[i % 3] ? -9 : v), 1],
  ['dropout', [X], [2, 3], x => x.map((v, i) => i % 2 ? 0 : 2 * v)],
  ['scale', [X], [2, 3], x => x.map(v => -0.25 * v)],
  ['shift', [X], [2, 3], x => x.map(v => v + 0.25)],
  ['clone', [X], [2, 3], x => x],
  ['reshape', [X], [3, 2], x => x],
  ['expand', [[[1, 3], kX.slice(3)]], [2, 3], x => [...x, ...x]],
  ['cat', [X, [[1, 3], [7, 8, 9]]], [3, 3], (x, y) => [...x, ...y]],
  ['divide', [X, [[3], [2, 4, 5]]], [2, 3], (x, y) => x.map((v, i) => v / y[i % 3])],
  ['subtract', [[[3], [2, 4, 5]], X], [2, 3], (y, x) => x.map((v, i) => y[i % 3] - v)],
  ['maximum', [X, [[], [0.4]]], [2, 3], (x, y) => x.map(v => Math.max(v, y[0]))],
  ['sum', [X], [3], x => [0, 1, 2].map(i => x[i] + x[i + 3])],
  ['mean', [X], [2, 1], x => rows(x, r => [middle(r)])],
  ['var', [X], [2], x => rows(x, r => [squares(centred(r)) / 2])],
  ['std', [X], [], x => [Math.sqrt(squares(centred(x)) / 6)]],
  ['logsumexp', [X], [2, 1], x => rows(x, r => [Math.log(total(r.map(Math.exp)))])],
  ['max', [X], [3], x => [0, 1, 2].map(i => Math.max(x[i], x[i + 3]))],
  ['norm', [X], [], x => [Math.sqrt(squares(x))]],
  ['prod', [X], [2], x => rows(x, r => [r[0] * r[1] * r[2]])],
  ['swiglu', [X, X], [2, 3], (g, x) => g.map((v, i) => v / (1 + Math.exp(-v)) * x[i])],
  ['cross_entropy', [X, [[2], [2, 0]]], [], (x, t) => [-(Math.log(shares(x.slice(0, 3))[t[0]]) + Math.log(shares(x.slice(3))[t[1]])) / 2], 1],
  ['one_hot', [[[2], [2, 0]]], [2, 3], () => [0, 0, 1, 1, 0, 0], 0],
  ['cumsum', [X], [2, 3], x => rows(x, r => [r[0], r[0] + r[1], total(r)])],
  ['gather', [X, [[2, 2], [2, 0, 1, 1]]], [2, 2], (x, n) => n.map((k, i) => x[3 * (i >> 1) + k]), 1],
  ['less', [X, [[3], [0.4, 0, 1]]], [2, 3], (x, y) => x.map((v, i) => +(v < y[i % 3]))],
  ['logical_xor', [[[4], [0, 0, 1, 1]], [[4], [0, 1, 0, 1]]], [4], (a, b) => a.map((v, i) => +(v !== b[i])), 0],
  ['argmax', [X], [2], x => rows(x, r => [r.indexOf(Math.max(...r))])],
  ['any', [[[2, 2], [0, 1, 0, 0]]], [2], x => [+(x[0] || x[1]), +(x[2] || x[3])], 0],
  ['attention', [[[1, 1, 2, 3], kX], [[1, 1, 2, 3], kX], [[1, 1, 2, 2], [1, 2, 3, 4]]], [1, 1, 2, 2], oneHead],
];
function taped(name, inputs, shape, y) {
  const s = new Sample(), ids = inputs.map(([form, x]) => s.tensor('leaf', form, x)), out = s.tensor('result', shape, y);
  s.add('ops', name, ids, out);
  const map = x => s.tensor('inside', [1, 1, 2, 2], x);
  if (name === 'attention') s.tape.attention.push({op: 0, scores: map([0, 0, 0, 0]), masked: map([0, -Infinity, 0, 0])});
  return {t: p.openTape(s.tape), out};
}

run({
  'CRC-32 of the standard check text'() {
    assert.equal(p.crc32('123456789'), 'cbf43926');
    assert.equal(p.crc32(''), '00000000');
  },
  'numbers are decoded from base64'() {
    assert.deepEqual([...p.decode(f64([1, -0.5, NaN, Infinity]))], [1, -0.5, NaN, Infinity]);
    assert.deepEqual([...p.decode({f32: 'AACAPwAAAEA='})], [1, 2]);
    assert.equal(p.decode({stats: []}), null);
  },
  'indices and strides'() {
    assert.deepEqual(p.stridesOf([2, 3, 4]), [12, 4, 1]);
    assert.deepEqual(p.indexOf(23, [2, 3, 4]), [1, 2, 3]);
    assert.equal(p.flatOf([1, 2, 3], [12, 4, 1]), 23);
    assert.equal(p.broadcastFlat([1, 2, 3], [3, 1]), 2);
    assert.equal(p.broadcastFlat([1, 2], []), 0);
    assert.deepEqual([0, 5, 9].map(i => p.windowAt(i, 4, 10)), [0, 3, 6]);
  },
  'numbers as text'() {
    const texts = [0, -0.5, 1234567, 0.00001234, NaN, -Infinity, 100, 2.5, 123456].map(x => p.short(x));
    assert.deepEqual(texts, ['0', '−0.5', '1.23e6', '1.23e−5', 'NaN', '−∞', '100', '2.5', '123456']);
  },
  'text on every color of a heatmap has a contrast of at least 4.5'() {
    for (const dark of [false, true]) for (let v = -1; v <= 1; v += 0.01) {
      const rgb = p.colourOf(v, 1, dark), [a, b] = [p.luminance(rgb), p.inkOn(rgb) === '#000' ? 0 : 1];
      assert.ok((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 4.5, `at ${v}`);
    }
  },
  'erf matches another series'() {  // 2/√π Σ (−1)ⁿ x^(2n+1) / (n! (2n+1))
    for (const x of [-2.9, -0.3, 0, 0.7, 2.5]) {
      let power = x, sum = x;
      for (let n = 1; n < 100; ++n) sum += (power *= -x * x / n) / (2 * n + 1);
      near(p.erf(x), 2 / Math.sqrt(Math.PI) * sum, 1e-11);
    }
    assert.deepEqual([p.erf(7), p.erf(-7)], [1, -1]);
  },
  'derivatives of activations match finite differences'() {
    for (const [name, f] of Object.entries(p.kUnary)) {
      for (const x of [0.3, 0.8, 1.7]) {
        const h = 1e-5;
        near(f(x)[1], (f(x + h)[0] - f(x - h)[0]) / 2 / h, 1e-8);
        if (!/sqrt|rsqrt|log/.test(name)) near(f(-x)[1], (f(-x + h)[0] - f(-x - h)[0]) / 2 / h, 1e-8);
      }
    }
  },
  'each value of the sample is recomputed, forward and backward'() {
    const t = p.openTape(sample());
    let n = 0;
    for (const id of [...t.ops].map(o => o.out).concat([...t.ledger].map(e => e.contribution)))
      for (let i = 0; i < p.values(t.tensors.get(id)).length; ++i, ++n) assert.ok(p.cellArithmetic(t, id, i).agrees, `${id}[${i}]`);
    assert.equal(n, 28);
    assert.match(p.cellArithmetic(t, t.ops.get(0).out, 1).e.s(), /^1·2 \+ 2·0\.25$/);
  },
  'a gradient whose tensor was not recorded is not a failure'() {
    const json = sample();
    json.ledger.rows[1][2] = null, json.visits.rows[1][0] = null;
    assert.equal(p.cellArithmetic(p.openTape(json), json.ledger.rows[1][3], 0).why, 'not all values were recorded');
  },
  'a wrong value is reported as a mismatch'() {
    const json = sample(), t = p.openTape(json), z = t.tensors.get(t.ops.get(0).out);
    p.values(z)[1] += 1e-9;
    assert.equal(p.cellArithmetic(t, z.id, 1).agrees, false);
    const e = t.ledger.get(1), dx = p.values(t.tensors.get(e.contribution));
    dx[0] *= 1.0001;
    assert.equal(p.cellArithmetic(t, e.contribution, 0).agrees, false);
  },
  'each operation is recomputed like naive code, and a wrong value is a mismatch'() {
    for (const [name, inputs, shape, f] of kCases) {
      const y = f(...inputs.map(i => i[1])), {t, out} = taped(name, inputs, shape, y);
      y.forEach((v, i) => assert.ok(p.cellArithmetic(t, out, i).agrees, `${name}[${i}]: ${JSON.stringify(p.cellArithmetic(t, out, i))}`));
      // The page derives their constant from y.
      if (/scale|shift|masked_fill|dropout/.test(name)) continue;
      const bad = taped(name, inputs, shape, y.map((v, i) => i === y.length - 1 ? v + 0.001 : v));
      assert.notEqual(p.cellArithmetic(bad.t, bad.out, y.length - 1).agrees, true, name);
    }
  },
  'each gradient matches finite differences of the naive code'() {
    for (const [name, inputs, shape, f, fixed] of kCases) {
      const numbers = inputs.map(i => i[1]), {t} = taped(name, inputs, shape, f(...numbers)), {map} = p.pathsOf(t, t.ops.get(0));
      const dot = x => total(f(...x).map((v, j) => v * (0.5 + j / 7)));
      numbers.forEach((x, k) => k !== fixed && x.forEach((_, i) => {
        const moved = by => dot(numbers.map((y, n) => y.map((v, m) => n === k && m === i ? v + by : v)));
        const got = total((map.get(k * 2 ** 32 + i) || []).map(u => u.d * (0.5 + u.j / 7)));
        near(got, (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-7);
      }));
    }
  },
  'reductions infer their axis from the values'() {
    const s = new Sample(), x = s.tensor('leaf', [2, 2], [1, 2, 3, 5]), y = s.tensor('result', [2], [4, 7]);
    s.add('ops', 'sum', [x], y);
    const a = p.cellArithmetic(p.openTape(s.tape), y, 0);
    assert.ok(a.agrees);
    assert.equal(a.e.s(), '1 + 3');
  },
  'a view reads its memory'() {
    const s = new Sample(), x = s.tensor('leaf', [2, 3], [1, 2, 3, 4, 5, 6], null, {storage: 1});
    const y = s.tensor('result', [3, 2], [1, 4, 2, 5, 3, 6], null, {storage: 1, strides: [1, 3]});
    s.add('ops', 'transpose', [x], y);
    const t = p.openTape(s.tape), a = p.cellArithmetic(t, y, 1);
    assert.ok(a.agrees && [...a.parts.values()][0].i === 3);
    assert.deepEqual(p.memoryOf(t.tensors.get(y)), [0, 3, 1, 4, 2, 5]);
    assert.deepEqual(p.reshapeInstead(t.tensors.get(y)), [0, 1, 2, 3, 4, 5]);
  },
  'a ledger line is checked bitwise'() {
    const s = new Sample(), more = {f32: true}, [b, c] = [Math.fround(0.1), Math.fround(0.2)];
    const [before, part, good, bad] = [[b], [c], [Math.fround(b + c)], [Math.fround(b + c) + 6e-8]].map(v => s.tensor('grad', [1], v, null, more));
    s.add('ledger', null, 0, 0, part, before, good, 2, 2), s.add('ledger', null, 0, 0, part, before, bad, 2, 2);
    const t = p.openTape(s.tape);
    assert.equal(p.entryHolds(t, t.ledger.get(0)), true);
    assert.equal(p.entryHolds(t, t.ledger.get(1)), false);
  },
  'a hook is a line of the ledger, and its change is not a sum'() {
    const s = new Sample(), [to, before, after] = [[1], [2], [4]].map(v => s.tensor('grad', [1], v));
    s.add('hooks', to, 0, before, after);
    const t = p.openTape(s.tape), [e] = t.entries.get(to);
    assert.deepEqual([e.hook, e.after, p.entryHolds(t, e)], [true, after, null]);
  },
  'the first different value is found, and values that were not captured are reported'() {
    const a = p.openTape(sample()), b = p.openTape(sample());
    assert.equal(p.compare(a, b).filter(r => r.same !== true).length, 0);
    p.values(b.tensors.get(b.ops.get(1).out))[2] += 1e-12;
    const rows = p.compare(a, b), first = rows.find(r => r.same === false);
    assert.equal(first.step, 'f1');
    assert.equal(first.at, 2);
    b.tensors.get(b.ops.get(1).out).block = null;
    assert.equal(p.compare(a, b).find(r => r.step === 'f1').same, null);
  },
  'the tree shows only open nodes'() {
    const t = p.openTape(chain(1000));
    const rows = (...opened) => p.treeRows(t, new Set(opened));
    assert.equal(rows().length, 1);
    assert.deepEqual(rows(0).map(r => r.kids.length), [3, 20, 48, 20]);  // block.1 to block.48 are one row
    assert.equal(rows(0, 'r2').length, 52);
    assert.equal(rows(0, 'r2', 1, 7).length, 92);
    assert.deepEqual([rows(), rows(0), rows(0, 'r2'), rows(0, 'r2', 7)].map(all => p.rowOf(t, all, t.ops.get(120))), [0, 2, 8, 9]);
  },
  'three blocks and modules that are not blocks are not folded'() {
    const s = new Sample(), x = s.tensor('input', [1], [1]);
    s.add('modules', '', 'Net', null);
    for (const path of ['block.0', 'block.1', 'block.2', 'up.0', 'up.1', 'up.2', 'up.3', 'fc4', 'fc5', 'fc6', 'fc7'])
      s.add('ops', 'abs', [x], x, s.add('modules', path, path === 'up.3' ? 'Other' : 'Layer', 0));
    assert.equal(p.openTape(s.tape).tree.kids[0].kids.length, 11);
  },
  'a drawn graph has at most 150 nodes'() {
    const t = p.openTape(chain(1000));
    assert.ok(p.graphOf(t, t.steps[500], true).nodes.length <= 150);
    assert.equal(p.graphOf(t, t.steps[500], false).nodes.length, 5);
  },
  'the address holds the state'() {
    const t = p.openTape(sample()), state = p.read('#s=b1&v=ledger&cell=3.4&lead=0.1&t=1', t);
    assert.deepEqual(state.cell, {id: 3, i: 4});
    assert.deepEqual(p.read('#' + p.write(state), t), state);
    for (const bad of ['#s=b999&v=constructor&cell=99.1&lead=x', '#cell=3.6', '#%', '#selftest']) {
      const s = p.read(bad, t);
      assert.deepEqual([s.s, s.v, s.cell], ['f0', 'step', null]);
    }
  },
  'questions have their answer among the options'() {
    const t = p.openTape(sample());
    for (const op of t.ops) for (let n = 0; n < 6; ++n) {
      const q = p.question(t, op, n);
      assert.ok(q.options.includes(q.answer) && q.options.length > 1, q.ask);
    }
  },
  'the equation folds views, and continues from each result'() {
    const t = p.openTape(attention());
    const names = line => line.terms.map(x => `${x.sign} ${p.symbolOf(t, x.id)}`);
    assert.deepEqual(p.equationOps(t).map(op => op.op), ['matmul', 'scale', 'softmax', 'matmul']);
    assert.equal(p.equationOps(t, true).length, 5);
    const lines = p.linesOf(t, p.equationOps(t));
    assert.deepEqual(lines.map(names), [
      [' q', '· kᵀ', '= q kᵀ', '÷ √4 = scores', 'softmax → weights', '· v', '= out']]);
    const all = p.linesOf(t, p.equationOps(t, true)).map(names);
    assert.deepEqual(all[0], [' k', 'permute → kᵀ']);
  },
  'an op that does not start from the result before starts a new line'() {
    const s = new Sample(), [a, b] = [1, 2].map(x => s.tensor('leaf', [2], [x, x]));
    const [y, z, w] = [2, 3, 5].map(x => s.tensor('result', [2], [x, x]));
    s.add('ops', 'multiply', [a, b], y), s.add('ops', 'subtract', [b, y], z);
    s.add('ops', 'add', [b, z], w);
    const t = p.openTape(s.tape), text = x => `${x.sign}${p.symbolOf(t, x.id)}`;
    const lines = p.linesOf(t, p.equationOps(t));
    assert.deepEqual(lines.map(l => l.terms.map(text).join(' ')), ['x ⊙a =y_0', 'a −y_0 =y_1 +a =y_2']);
  },
  'a value is traced through operations that are not shown'() {
    const t = p.openTape(attention()), [q, k, kT, qk, scores] = [0, 1, 2, 3, 4];
    const near = (id, i, next, shown) => [...p.nearest(t, id, i, next, new Set(shown))]
      .map(([tensor, cells]) => [tensor, [...cells].sort()]).sort((a, b) => a[0] - b[0]);
    const from = (id, i, ...shown) => near(id, i, p.sourcesOf, shown);
    const to = (id, i, ...shown) => near(id, i, p.usesOf, shown);
    assert.deepEqual(from(scores, 1, qk), [[qk, [1]]]);
    assert.deepEqual(from(scores, 1, q, kT), [[q, [0, 1, 2, 3]], [kT, [1, 4, 7, 10].sort()]]);
    assert.deepEqual(from(scores, 1, q, k), [[q, [0, 1, 2, 3]], [k, [4, 5, 6, 7]]]);
    assert.deepEqual(to(k, 5, scores), [[scores, [1, 4]]]);
  },
  'a gradient comes from the gradient of the result and the other factors, and goes to the inputs'() {
    const t = p.openTape(sample()), [dy, dz] = [t.visits.get(0).dy, t.visits.get(1).dy];
    const [dx, dw] = t.visits.get(1).gin.map(e => e.after), [x, w] = t.ops.get(0).in, y = t.ops.get(1).out;
    const sources = (id, i) => [...new Set(p.sourcesOf(t, id, i).map(c => c.join()))].sort();
    const row = (id, ...cells) => cells.map(i => `${id},${i}`);
    assert.deepEqual(sources(dz, 4), [...row(y, 3, 4, 5), ...row(dy, 3, 4, 5)].sort());
    assert.deepEqual(sources(dx, 3), [...row(w, 1, 3, 5), ...row(dz, 3, 4, 5)].sort());
    assert.deepEqual(sources(dw, 2), [...row(x, 0, 2), ...row(dz, 1, 4)].sort());
    assert.deepEqual(p.usesOf(t, dz, 4).map(c => c.join()).sort(),
      [[dx, 2], [dx, 3], [dw, 2], [dw, 3]].map(c => c.join()).sort());
  },
  'tensors of two traces are paired by their places, gradients too'() {
    const a = p.openTape(sample()), b = p.openTape(sample()), twins = p.twinTensors(a, b);
    for (const id of [0, 1, 2, 3, 4, 5, 6, 7]) assert.equal(twins.get(id), id);
  },
  'formulas are read as names, indices, sums and powers'() {
    const kinds = p.mathTokens('dx̂_ti = Σ_j 2 y_j² / n').map(x => x.kind).join(' ');
    assert.equal(kinds, 'name sub name mark sum sub name number name sub name raised mark name');
  },
  'another version of the format is rejected'() {
    assert.throws(() => p.openTape({schema: 'gradus-tape/2'}), /reads gradus-tape\/1, not gradus-tape\/2/);
  },
});
