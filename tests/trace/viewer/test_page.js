// Tests the page in a browser, from file:// and without a network: contents, keys, changed bytes,
// hostile names.
'use strict';
const assert = require('assert'), fs = require('fs');
const {sample, attention, script, page, escaped, pure, f64, runInBrowser} = require('./support.js');
const kViews = ['step', 'ledger', 'attention', 'flow', 'storage', 'graph', 'source', 'compare'];
const text = (b, where) =>
    b.run(`document.querySelector(${JSON.stringify(where)})?.innerText ?? ''`);

const address = b => b.run('new Promise(done => setTimeout(() => done(location.hash), 150))');
async function open(b, html, hash = '') {
  await b.visitText(html, hash);
  assert.deepEqual(b.complaints(), []);
}

runInBrowser({
  async 'the self-test visits every step in every view and finds no error'(b) {
    await open(b, page(sample()), '#selftest');
    const result = JSON.parse(await b.until('document.getElementById("selftest")?.textContent'));
    assert.deepEqual(result, {steps: 5, failed: [], cells: 15, unknown: 0});
    assert.deepEqual(b.complaints(), []);
  },
  async 'the self-test finds a wrong value'(b) {
    const json = sample(), block = json.values[json.tensors.rows[2][2]];  // the output z of linear
    block.f64 = Buffer.from(new Float64Array([9, 9, 9, 9, 9, 9]).buffer).toString('base64');
    await open(b, page(json), '#selftest');
    const result = JSON.parse(await b.until('document.getElementById("selftest")?.textContent'));
    assert.ok(result.failed.length > 0);
  },
  async 'the self-test finds a wrong sum of gradients'(b) {
    const json = sample(), after = json.values.push(f64([9, 9, 9, 9])) - 1;
    const tensor = json.tensors.rows.push(
      [...json.tensors.rows[json.ledger.rows[1][3]]]) - 1;
    json.tensors.rows[tensor][2] = after, json.ledger.rows[1][5] = tensor;
    await open(b, page(json), '#selftest');
    const result = JSON.parse(await b.until('document.getElementById("selftest")?.textContent'));
    assert.deepEqual(result.failed, ['ledger 1: before + contribution is not after']);
  },
  async 'one changed byte is reported, and an unchanged file is not'(b) {
    const payload = escaped(sample()), at = payload.indexOf('net.weight');
    const crc = pure().crc32(payload);
    await open(b, page(payload, {crc}));
    assert.equal(await text(b, '[role=alert]'), '');
    await open(b, page(payload.slice(0, at) + 'n' + 'a' + payload.slice(at + 2), {crc}));
    assert.match(await text(b, '[role=alert]'), /does not match its checksum/);
    await open(b, page(payload.slice(1), {crc}));
    assert.match(await text(b, '[role=alert]'), /checksum.*cannot be read/s);
  },
  async 'hostile names are text'(b) {
    await open(b, page(sample()));
    assert.match(await text(b, 'h1'), /<\/script><img src=x/);
    assert.equal(await b.run('document.querySelectorAll("img").length'), 0);
  },
  async 'an exception is shown at the top'(b) {
    const json = sample();
    json.failure = {op: 'matmul', in: [0, 1], module: 1, stack: 0,
        message: 'matmul: [2, 2] x [3, 2] <b>'};
    await open(b, page(json));
    assert.match(await text(b, '#notices'),
      /matmul threw on 2×2 and 3×2 in net: matmul: \[2, 2\] x \[3, 2\] <b>/);
    json.failure = {op: 'linear', in: [], module: null, stack: 0, message: 'linear: no'};
    await open(b, page(json));
    assert.match(await text(b, '#notices'), /linear threw: linear: no/);
  },
  async 'a page with only attention maps opens, with blank tokens'(b) {
    const json = sample();
    json.labels = {T: ['cat', ' '], S: ['the', '', '\n']};
    for (const name of ['ops', 'walks', 'visits', 'ledger', 'deposits', 'updates'])
      json[name].rows = [];
    json.attention[0].op = null;
    await open(b, page(json));
    assert.match(await text(b, '#stage'), /weights = softmax/);
    assert.match(await text(b, 'table.heat'), /the\s∅\s␣/);
  },
  async 'everything can be reached by keyboard'(b) {
    await open(b, page(sample()));
    const state = () => address(b);
    const press = async (...keys) => { for (const k of keys) await b.key(k); };
    await press('n');
    assert.match(await state(), /s=f1&v=step/);
    await press('b');
    assert.match(await state(), /s=b0/);
    await press('ArrowRight');
    assert.match(await state(), /s=b1/);
    await press('b');
    assert.match(await state(), /s=f0/);
    await press('End');
    assert.match(await state(), /s=u/);
    await press('t');
    assert.match(await state(), /s=f1/);
    for (let k = 0; k < kViews.length; ++k) {
      await press(String(k + 1));
      assert.match(await state(), new RegExp(`v=${kViews[k]}`));
    }
    await press('1', 'p');
    assert.match(await text(b, '#stage'), /Predict/);
    await press('p', 'm');
    assert.equal(await b.run('document.querySelectorAll("[role=grid]").length'), 0);
    assert.ok(await b.run('document.querySelectorAll("table.plain").length > 0'));
    await press('m', '?');
    assert.match(await text(b, 'dialog[open]'), /next, previous step/);
    await press('Escape', '/');
    await b.run(`const box = document.querySelector('dialog[open] input');
      box.value = 'softmax', box.dispatchEvent(new Event('input'))`);
    assert.match(await text(b, 'dialog[open]'), /f1 forward softmax/);
  },
  async 'a matrix is one tab stop; arrows move in it, and the arithmetic follows'(b) {
    await open(b, page(sample()), '#s=f0');
    assert.ok(await b.run(`[...document.querySelectorAll('table.heat')].every(t =>
      t.querySelectorAll('[tabindex="0"]').length === 1)`));
    await b.run('document.querySelector("table[data-id=\'2\'] [tabindex=\'0\']").focus()');
    for (const key of ['ArrowRight', 'ArrowDown']) await b.key(key);
    assert.match(await address(b), /s=f0.*cell=2\.4/);
    assert.equal(await b.run('document.activeElement.dataset.i'), '4');
    assert.match(await text(b, '.sum'), /\(−1\)·2 \+ 0\.5·0\.25 = −1\.875/);
    assert.match(await text(b, '#sum'), /✓ agrees with the recorded −1\.875/);
    assert.equal(await b.run('document.querySelectorAll("td.from").length'), 4);
    // A row of the softmax.
    assert.equal(await b.run('document.querySelectorAll("td.to").length'), 3);
  },
  async 'pointing at a value lights its sources and uses, and shows its arithmetic'(b) {
    await open(b, page(attention()), '#s=f1');
    const point = (id, i) => b.run(`document.querySelector(
      'table[data-id="${id}"] td[data-i="${i}"]')
      .dispatchEvent(new PointerEvent('pointermove', {bubbles: true}))`);
    const lit = look => b.run(`[...document.querySelectorAll('td.${look}')].map(e =>
      e.closest('table').dataset.id + '.' + e.dataset.i).join(' ')`);
    await point(4, 1);  // an element of the scores q kᵀ
    assert.equal(await lit('from'), '3.1');
    assert.equal(await lit('to'), '5.0 5.1 5.2');  // a row of the softmax
    assert.match(await text(b, '#sum'), /scores.*\[0,1\] = .*·0\.5 = /s);
    await point(2, 1);
    assert.equal(await lit('to'), '3.1 3.4');
    await b.run('document.querySelector("#stage").dispatchEvent(new PointerEvent("pointerleave"))');
    assert.equal(await lit('from') + await lit('to'), '');
    await b.send('Emulation.setFocusEmulationEnabled', {enabled: true});  // sends focus events
    await b.run(`document.querySelector('table[data-id="4"] [tabindex="0"]').focus()`);
    assert.equal(await lit('from'), '3.0');
    await b.key('ArrowRight');
    assert.match(await text(b, '#live'), /scores\[0,1\] = /);
  },
  async 'the equation folds views, and unfolds them by key; stepping skips folded ones'(b) {
    await open(b, page(attention()));
    const steps = () => b.run(
      '[...document.querySelectorAll(".op[data-step]")].map(e => e.dataset.step).join(" ")');
    assert.equal(await steps(), 'f1 f2 f3 f4');
    for (const key of ['Home', 'ArrowLeft']) {
      await b.key(key);
      assert.match(await text(b, '#where'), /step 2 of 5: forward, matmul/);
    }
    await b.run('app.go({s: "f0"})');
    await b.key('n');
    assert.match(await text(b, '#where'), /step 2 of 5/);
    await b.key('u');
    await b.key('Home');
    assert.match(await text(b, '#where'), /step 1 of 5: forward, permute/);
    assert.equal(await steps(), 'f0 f1 f2 f3 f4');
    assert.match(await address(b), /unfold=1/);
  },
  async 'predict mode hides the result and what comes after it'(b) {
    await open(b, page(attention()), '#s=f3&quiz=1');
    // The results weights and out.
    assert.equal(await b.run('document.querySelectorAll(".secret").length'), 2);
    await b.run('document.querySelector("#stage .row button").click()');
    assert.equal(await b.run('document.querySelectorAll(".secret").length'), 0);
  },
  async 'another page mounts the viewer and replaces the trace'(b) {
    const changed = attention(), x = new Float64Array(8).fill(2);
    changed.values[0].f64 = Buffer.from(x.buffer).toString('base64');
    await b.visitText(`<!DOCTYPE html><title>t</title><div id="here"></div>
      <script>globalThis.names = new Set(Object.getOwnPropertyNames(window))</script>
      <script type="module">${script()}</script>`);
    const added = 'Object.getOwnPropertyNames(window).filter(n => !names.has(n)).join()';
    assert.equal(await b.run(added), 'names,app');
    await b.run(`app.mount(document.getElementById('here'), ${JSON.stringify(attention())})`);
    await b.run('app.go({s: "f1"}), app.cell(0, 2)');
    await b.run(`app.replace(${JSON.stringify(JSON.stringify(changed))})`);
    const {s, v, cell} = await b.run('app.state');
    assert.deepEqual([s, v, cell], ['f1', 'step', {id: 0, i: 2}]);
    const changes = id => b.run(
      `document.querySelectorAll('table[data-id="${id}"] td.changed').length`);
    assert.deepEqual([await changes(0), await changes(2)], [8, 0]);
    await b.run('app.go({v: "compare"})');
    assert.match(await text(b, '#here'), /before the change/);
    assert.equal(await b.run('location.hash'), '');
    assert.deepEqual(b.complaints(), []);
  },
  async 'nothing moves if the reader prefers reduced motion'(b) {
    const moving = async value => {
      const features = [{name: 'prefers-reduced-motion', value}];
      await b.send('Emulation.setEmulatedMedia', {features});
      await open(b, page(attention()), '#s=f1');
      await b.key('n');
      return b.run('document.getAnimations().length');
    };
    assert.ok(await moving('no-preference') > 0);
    assert.equal(await moving('reduce'), 0);
    await b.send('Emulation.setEmulatedMedia', {features: []});
  },
  async 'formulas are MathML with fractions, and a derivation gives its reasons'(b) {
    await open(b, page(sample()), '#s=b0');
    const parts = await b.run(`[...document.querySelectorAll('#right mfrac')].map(f =>
      [...f.children].map(e => e.textContent).join(' over '))`);
    assert.deepEqual(parts, ['exp(xri) over Σjexp(xrj)', '∂yj over ∂xi']);
    assert.match(await text(b, '#right'), /definition/);
  },
  async 'an address restores its state, and each step is announced'(b) {
    await open(b, page(sample()), '#s=b1&v=ledger&t=1');
    assert.match(await text(b, '#stage'), /The gradient of net\.weight/);
    await b.key('ArrowLeft');
    assert.match(await text(b, '#live'), /step 3 of 5: backward, softmax/);
  },
  async 'another page is compared up to the first difference'(b) {
    const other = sample();
    other.values[other.tensors.rows[3][2]] = f64([1, 0, 0, 1, 0, 0]);
    await open(b, page(sample(), {other}), '#v=compare');
    assert.match(await text(b, '#stage'), /first difference is in f1 softmax/);
    await open(b, page(sample()));
    await b.run(`app.load('b.html', ${JSON.stringify(page(sample()))})`);
    assert.match(await text(b, '#stage'), /no recorded value differs/);
  },
  async 'a heatmap is saved as a PNG'(b) {
    await open(b, page(sample()), '#s=f1');
    const url = await b.run(`new Promise(done => {
      HTMLAnchorElement.prototype.click = function () { done(this.href); };
      document.querySelector('#stage > details summary').click();
      setTimeout(() => document.querySelector('[aria-label^="save"]').click(), 200);
    })`);
    assert.equal(Buffer.from(url.split(',')[1], 'base64').subarray(1, 4).toString(), 'PNG');
    const json = sample(), picture = {rows: 1, columns: 2, ...f64([1, -2])};
    json.values[json.tensors.rows[3][2]] = {stats: [0, 1, 0, 1, 1, 0, 0, 0], picture};
    await open(b, page(json), '#s=f1');
    assert.ok(await b.run(`[...document.querySelectorAll('button')].some(e =>
      /^save → .*softmax.* as PNG/.test(e.ariaLabel))`));
  },
  async '390 pixels, 200 % and print need no horizontal scrolling'(b) {
    for (const [width, scale] of [[390, 1], [700, 2]]) {
      await b.size(width, 844, {scale});
      await open(b, page(sample()));
      for (const media of ['screen', 'print']) {
        await b.send('Emulation.setEmulatedMedia', {media});
        for (const v of kViews) {
          await b.run(`app.go({v: '${v}'})`);
          assert.ok(await b.run('document.documentElement.scrollWidth <= innerWidth'),
            `${v} at ${width}, ${media}`);
        }
      }
    }
    await b.send('Emulation.setEmulatedMedia', {media: ''});
    await b.size(1400, 900);
  },
  async 'the only addresses in the page are the SVG and MathML namespaces'() {
    const found = page(sample()).match(/https?:\/\/[^\s"'`]+/g)
      .filter(u => !/^http:\/\/www\.w3\.org\//.test(u));
    assert.deepEqual(found, []);
    assert.match(page(sample()), /default-src 'none'/);
  },
});
