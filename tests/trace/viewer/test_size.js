// Opens a page of 50,000 recorded ops, which must respond to keys without a noticeable delay. The
// limits are CPU times, because tests run in parallel. They are three times the documented times,
// to allow for contended caches.
'use strict';
const assert = require('assert');
const {chain, page, runInBrowser} = require('./support.js');
const kOpen = 3, kKey = 0.05, kLoad = 3;

async function busy(b) {
  const {metrics} = await b.send('Performance.getMetrics');
  return metrics.find(m => m.name === 'ThreadTime').value;
}

runInBrowser({
  async 'a large page opens, and each view responds'(b) {
    await b.send('Performance.enable', {timeDomain: 'threadTicks'});
    const began = await busy(b), ms = await b.visitText(page(chain(50000))), opened = await busy(b);
    console.log(`opened in ${ms} ms, ${(opened - began).toFixed(2)} s of processor time`);
    assert.ok(opened > 0 && opened - began < kOpen * kLoad);
    for (const v of ['step', 'ledger', 'attention', 'flow', 'storage', 'graph', 'source', 'compare']) {
      await b.run(`app.go({v: '${v}', s: 'f20000'})`);
      const keys = ['n', 'n', 'b', 'ArrowLeft', 'n', 'b', 'n', 'n'], before = await busy(b);
      await b.run(`for (const key of ${JSON.stringify(keys)})
        document.dispatchEvent(new KeyboardEvent('keydown', {key})), document.body.offsetHeight;`);
      const each = (await busy(b) - before) / keys.length;
      console.log(`${v}: a key takes ${(1000 * each).toFixed(1)} ms`);
      assert.ok(each > 0 && each < kKey * kLoad, v);
      assert.ok(await b.run('document.querySelectorAll("*").length < 3000'), `${v} must contain only open elements`);
    }
    assert.deepEqual(b.complaints(), []);
  },
});
