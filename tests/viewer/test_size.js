// 50,000 recorded operations: the page opens, and a key answers, in a time that a person does not notice. The page's own
// clock is read; 5 times what is promised is allowed, since tests run beside others.
'use strict';
const assert = require('assert');
const {chain, page, runInBrowser} = require('./support.js');
const kOpen = 3000, kKey = 50, kLoad = 5;

runInBrowser({
  async 'opens, and each view answers'(b) {
    const ms = await b.visitText(page(chain(50000)));
    console.log(`opened in ${ms} ms`);
    assert.ok(ms < kOpen * kLoad);
    for (const v of ['step', 'ledger', 'attention', 'flow', 'storage', 'graph', 'source', 'compare']) {
      const times = await b.run(`(() => { const times = []; app.go({v: '${v}', s: 'f20000'});
        for (const key of ['n', 'n', 'b', 'ArrowLeft', 'n']) {
          const began = performance.now();
          document.dispatchEvent(new KeyboardEvent('keydown', {key})), document.body.offsetHeight;
          times.push(performance.now() - began);
        }
        return times; })()`);
      console.log(`${v}: a key in ${Math.max(...times).toFixed(1)} ms`);
      assert.ok(Math.max(...times) < kKey * kLoad, v);
      assert.ok(await b.run('document.querySelectorAll("*").length < 3000'), `${v} holds only what is open`);
    }
    assert.deepEqual(b.complaints(), []);
  },
});
