// axe-core (from the axe-playwright-python wheel) finds no violation in any view, light or dark,
// wide or narrow.
'use strict';
const assert = require('assert');
const {sample, chain, page, runInBrowser, needAxe, violations} = require('./support.js');

needAxe();
const pages = {
  sample: page(sample()), chain: page(chain(500)),
  failed: page({...sample(), failure: {op: 'matmul', in: [0, 1], module: 1, stack: 0, message: 'no'}}),
  compared: page(sample(), {other: sample()}),
};
const looks = [[1400, 900, false], [1400, 900, true], [390, 844, false], [390, 844, true]];

runInBrowser({async 'an image without alternative text is reported'(b) {
  await b.visitText(page(sample()));
  await b.run('document.body.append(document.createElement("img"))');
  assert.match((await violations(b)).join(), /image-alt/);
}, ...Object.fromEntries(Object.entries(pages).map(([name, html], k) => [`${name} has no violation`, async b => {
  const [width, height, dark] = looks[k];
  await b.size(width, height, {dark});
  await b.visitText(html, name === 'sample' ? '#s=b1&cell=1.1' : '');
  for (const v of ['step', 'ledger', 'attention', 'flow', 'storage', 'graph', 'source', 'compare']) {
    await b.run(`app.go({v: '${v}'})`);
    assert.deepEqual([v, ...await violations(b)], [v]);
  }
  if (name === 'sample') for (const more of ['{v: "step", s: "f1", quiz: 1}', '{quiz: null, plain: 1}']) {
    await b.run(`app.go(${more})`);
    assert.deepEqual([more, ...await violations(b)], [more]);
  }
}]))});
