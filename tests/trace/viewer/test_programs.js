// Each lesson, one step of gpt and each case of cases.cpp write a page. Chromium opens it from
// file:// without network access or console messages, and the page's self-test finds no error.
// Documented sizes are measured.
'use strict';
const assert = require('assert'), fs = require('fs'), path = require('path');
const {execFileSync} = require('child_process');
const {runInBrowser, skip} = require('./support.js');

const build = process.argv[2] || path.join(__dirname, '../../../build/release'), tree = path.join(__dirname, '../../..');
const lessons = fs.readdirSync(path.join(tree, 'examples')).filter(n => /^\d\d_.*\.cpp$/.test(n)).map(n => n.slice(0, -4));
const programs = Object.fromEntries(lessons.map(name => [name, {arguments: [], most: name === '10_attention' ? 3e5 : 8e6}]));
programs.gpt = {arguments: ['train', path.join(tree, 'README.md'), '--config', 'toy', '--steps', '3', '--no-trial'], most: 4e6};
if (!fs.existsSync(path.join(build, 'gpt'))) skip(`${build} has no programs. Build them with cmake --build.`);
const cases = path.join(build, 'tests/trace/viewer/gradus_trace_cases');
for (const name of execFileSync(cases).toString().trim().split('\n'))
  programs[name] = {program: cases, arguments: [name], empty: name === 'thrown', most: 3e5};

/** Returns the URLs in a lesson's trace to which the lesson links. */
function addresses(name) {
  const page = path.join(tree, 'docs/course', name + '.md');
  if (!fs.existsSync(page)) return [];
  const found = [...fs.readFileSync(page, 'utf8').matchAll(/\]\(\.\.\/traces\/([\w]+)\.html#([^)\s]+)\)/g)];
  assert.ok(found.length > 0 && found.every(([, lesson]) => lesson === name), `${page} links to its trace`);
  return found.map(([, , address]) => address);
}

runInBrowser(Object.fromEntries(Object.entries(programs).map(([name, how]) => [`${name} writes a valid page`, async b => {
  const work = fs.mkdtempSync(path.join(b.folder, name)), file = path.join(work, 'step.html');
  const env = how.program ? process.env : {...process.env, GRADUS_TRACE: file};
  execFileSync(how.program || path.join(build, name), [...how.arguments, ...how.program ? [file] : []],
               {cwd: /^\d/.test(name) ? tree : work, stdio: 'ignore', timeout: 600000, env});
  const bytes = fs.statSync(file).size, began = Date.now();
  await b.visit(file, '#selftest');
  const result = JSON.parse(await b.until('document.getElementById("selftest")?.textContent', 1500));
  console.log(`${name}: ${bytes} bytes; ${result.steps} steps, ${result.cells} values recomputed, ${result.unknown} not; ${Date.now() - began} ms`);
  assert.deepEqual(result.failed, []);
  assert.ok(how.empty || (result.steps > 0 && result.cells + result.unknown > 0));
  assert.equal(await b.run('document.querySelectorAll("img").length'), 0, 'a hostile name is text');
  assert.deepEqual(b.complaints(), []);
  for (const address of addresses(name)) {
    const want = Object.fromEntries(new URLSearchParams(address));
    const got = await b.run(`new Promise(done => {
      addEventListener('hashchange', () => done(app.state), {once: true});
      location.hash = ${JSON.stringify(address)};
    })`);
    for (const key of Object.keys(want)) assert.equal(String(got[key]), want[key], `docs/course/${name}.md: #${address}`);
  }
  assert.ok(bytes <= how.most, `${bytes} bytes are more than ${how.most}`);
}])));
