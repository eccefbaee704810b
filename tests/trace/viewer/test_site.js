// Ten pages of the built site (tools/docs.sh) have no axe-core violation, light or dark, wide or narrow, report no error, and
// request nothing from a network. Pictures of them are written to the folder that the environment variable PICTURES names.
'use strict';
const assert = require('assert'), fs = require('fs'), path = require('path');
const {runInBrowser, skip, needAxe, violations} = require('./support.js');

const site = path.join(__dirname, '../../../build/site/docs');
if (!fs.existsSync(site)) skip('there is no site: run tools/docs.sh');
needAxe();

const pages = ['index', 'start/learn', 'course/index', 'course/10_attention', 'explanation/attention', 'checking/cpp',
  'guides/troubleshooting', 'reference/api/training', 'reference/cli', 'performance'];
const looks = [[1400, 900, false], [1400, 900, true], [390, 844, false], [390, 844, true]];

runInBrowser(Object.fromEntries(pages.map(name => [`${name} has no violation`, async b => {
  for (const [width, height, dark] of looks) {
    await b.size(width, height, {dark});
    await b.visit(path.join(site, name + '.html'));
    const found = [...await violations(b), ...b.complaints()];
    assert.ok(found.length === 0, `${width} px, ${dark ? 'dark' : 'light'}: ${found.join('\n')}`);
    assert.ok(await b.run('document.documentElement.scrollWidth <= innerWidth'), `${width} px: scrolls sideways`);
    if (process.env.PICTURES)
      await b.screenshot(path.join(process.env.PICTURES, `${name.replaceAll('/', '_')}-${width}-${dark ? 'dark' : 'light'}.png`));
  }
}])));
