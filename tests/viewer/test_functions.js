// The page's functions that need no browser. Numbers are worked out by hand or by a second way.
'use strict';
const assert = require('assert'), {pure, sample, Sample, f64, run, chain} = require('./support.js');
const p = pure();
const near = (a, b, eps = 1e-12) => assert.ok(Math.abs(a - b) <= eps * (1 + Math.abs(b)), `${a} is not ${b}`);

run({
  'CRC-32 of the standard check text'() {
    assert.equal(p.crc32('123456789'), 'cbf43926');
    assert.equal(p.crc32(''), '00000000');
  },
  'numbers come back from base64'() {
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
    const said = [0, -0.5, 1234567, 0.00001234, NaN, -Infinity, 100, 2.5, 123456].map(x => p.short(x));
    assert.deepEqual(said, ['0', '−0.5', '1.23e6', '1.23e−5', 'NaN', '−∞', '100', '2.5', '123456']);
  },
  'text on every colour of a heatmap has a contrast of 4.5 and more'() {
    for (let v = -1; v <= 1; v += 0.01) {
      const rgb = p.colourOf(v, 1), [a, b] = [p.luminance(rgb), p.inkOn(rgb) === '#000' ? 0 : 1];
      assert.ok((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= 4.5, `at ${v}`);
    }
  },
  'erf by another series'() {  // e^(−x²) Σ (2x)^(2n+1) n! / (2n+1)! · 1/√π
    for (const x of [-2.9, -0.3, 0, 0.7, 2.5, 3.5]) {
      let term = x, total = x;
      for (let n = 1; n < 200; ++n) total += term *= 2 * x * x / (2 * n + 1);
      near(p.erf(x), 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * total, 1e-11);
    }
  },
  'derivatives of activations are what a difference says'() {
    for (const [name, f] of Object.entries(p.kUnary)) {
      for (const x of [0.3, 0.8, 1.7]) {
        const h = 1e-5;
        near(f(x)[1], (f(x + h)[0] - f(x - h)[0]) / 2 / h, 1e-8);
        if (!/sqrt|rsqrt|log/.test(name)) near(f(-x)[1], (f(-x + h)[0] - f(-x - h)[0]) / 2 / h, 1e-8);
      }
    }
  },
  'each number of the sample is worked out again, forward and backward'() {
    const t = p.openTape(sample());
    let n = 0;
    for (const id of [...t.ops].map(o => o.out).concat([...t.ledger].map(e => e.contribution)))
      for (let i = 0; i < p.values(t.tensors.get(id)).length; ++i, ++n) assert.ok(p.cellArithmetic(t, id, i).agrees, `${id}[${i}]`);
    assert.equal(n, 28);
    assert.match(p.cellArithmetic(t, t.ops.get(0).out, 1).e.s(), /^1·2 \+ 2·0\.25$/);
  },
  'a number that does not belong there is not agreed with'() {
    const json = sample(), t = p.openTape(json), z = t.tensors.get(t.ops.get(0).out);
    p.values(z)[1] += 1e-9;
    assert.equal(p.cellArithmetic(t, z.id, 1).agrees, false);
    const e = t.ledger.get(1), dx = p.values(t.tensors.get(e.contribution));
    dx[0] *= 1.0001;
    assert.equal(p.cellArithmetic(t, e.contribution, 0).agrees, false);
  },
  'reductions find their axis in the numbers'() {
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
  'a ledger line is checked to the last bit'() {
    const s = new Sample(), more = {f32: true}, [b, c] = [Math.fround(0.1), Math.fround(0.2)];
    const [before, part, good, bad] = [[b], [c], [Math.fround(b + c)], [Math.fround(b + c) + 6e-8]].map(v => s.tensor('grad', [1], v, null, more));
    s.add('ledger', null, 0, 0, part, before, good, 2, 2), s.add('ledger', null, 0, 0, part, before, bad, 2, 2);
    const t = p.openTape(s.tape);
    assert.equal(p.entryHolds(t, t.ledger.get(0)), true);
    assert.equal(p.entryHolds(t, t.ledger.get(1)), false);
  },
  'the first number that differs is found, and what was not captured is said'() {
    const a = p.openTape(sample()), b = p.openTape(sample());
    assert.equal(p.compare(a, b).filter(r => r.same !== true).length, 0);
    p.values(b.tensors.get(b.ops.get(1).out))[2] += 1e-12;
    const rows = p.compare(a, b), first = rows.find(r => r.same === false);
    assert.equal(first.step, 'f1');
    assert.equal(first.at, 2);
    b.tensors.get(b.ops.get(1).out).block = null;
    assert.equal(p.compare(a, b).find(r => r.step === 'f1').same, null);
  },
  'the tree shows what is open, and no more'() {
    const t = p.openTape(chain(1000));
    assert.equal(p.treeRows(t, new Set()).length, 1);
    assert.equal(p.treeRows(t, new Set([0])).length, 51);
    assert.equal(p.treeRows(t, new Set([0, 1])).length, 71);
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
  'another version of the format is refused'() {
    assert.throws(() => p.openTape({schema: 'gradus-tape/2'}), /reads gradus-tape\/1, not gradus-tape\/2/);
  },
});
