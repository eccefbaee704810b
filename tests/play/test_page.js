// test_page.js PLAY.html: tests the playground in Chromium.
'use strict';
const assert = require('assert'), fs = require('fs');
const {runInBrowser, needAxe, violations} = require('../trace/viewer/support.js');

const kPage = require('path').resolve(process.argv[2]);
const kReady = "document.getElementById('printed').textContent !== ''";

async function open(b, hash = '') {
  await b.visit(kPage, hash);
  await b.until(kReady, 60);
}
const said = b => b.run("document.getElementById('said').textContent");
const problems = b => b.run(`[...document.querySelectorAll('#play .problem')]
    .map(each => each.textContent).filter(Boolean)`);

const kHostile = ['', ' ', 'NaN', 'Infinity', '1e999', '-1e999', '0x10', '"', '<b>', '1,2,3'];

const cases = {
  async 'opens without a network, a complaint or a loose policy'(b) {
    await open(b);
    assert.deepEqual(b.complaints(), []);
    const policy = await b.run(
        "document.querySelector('meta[http-equiv]').content.replace(/\\s+/g, ' ')");
    assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; worker-src blob:; /);
    assert.match(policy, /script-src 'sha256-[^']+' 'wasm-unsafe-eval'$/);
    assert.ok(fs.statSync(kPage).size <= 1.5e6);
  },

  async 'without wasm-unsafe-eval the page says why the engine does not start'(b) {
    await b.visitText(fs.readFileSync(kPage, 'utf8').replace(" 'wasm-unsafe-eval'", ''));
    assert.match(await b.until("document.getElementById('said').textContent", 60),
                 /does not start/);
  },

  async 'every part runs, and all recomputed cells agree after each of twenty edits'(b) {
    await open(b, '#selftest');
    const result = JSON.parse(await b.until(
        "document.getElementById('selftest')?.textContent", 1200));
    assert.deepEqual(result.failed, []);
    assert.ok(result.steps >= 35 && result.edits >= 600, JSON.stringify(result));
    assert.ok(await b.run("engine.call('memory')") < 256 * 2 ** 20);
    assert.deepEqual(b.complaints(), []);
  },

  async 'hostile inputs give one message, and the page keeps working'(b) {
    await open(b);
    const lessons = await b.run('engine.lessons');
    const fields = lessons.flatMap(({number, parts}) =>
        parts.flatMap(part => part.fields.map(field => ({number, part, field}))));
    for (const {number, part, field} of fields) {
      await b.run(`openState({lesson: ${number}, part: '${part.name}'})`);
      if (field.kind === 'text') continue;
      for (const text of kHostile) {
        await b.run(`(() => {
          const input = document.querySelector('#field-${field.name} input.number');
          input.value = ${JSON.stringify(text)};
          input.dispatchEvent(new Event('input', {bubbles: true}));
        })()`);
        await b.run('play.busy');
        const shown = [...await problems(b), await said(b)].filter(Boolean);
        assert.equal(shown.length, 1, `${number} ${part.name} ${field.name} '${text}': ${shown}`);
        assert.ok(!shown[0].includes('\n'), shown[0]);
      }
      await b.run(`openState({lesson: ${number}, part: '${part.name}'})`);
      assert.deepEqual([...await problems(b), await said(b)].filter(Boolean), []);
    }
    assert.deepEqual(b.complaints(), []);
  },

  async 'sizes that do not fit show the message of the operation'(b) {
    await open(b, '#');
    await b.run("form.values.q = [[1, 2]], refresh()");
    assert.match(await said(b), /attention.*width 2.*4/);
    await b.run("document.getElementById('step').click()");  // the reason stays
    await b.run('play.busy');
    assert.match(await said(b), /attention.*width 2.*4/);
    await b.run("openState({lesson: 10})");
    assert.equal(await said(b), '');
  },

  async 'a lack of memory gives one line, and the next lesson runs'(b) {
    await open(b);
    await b.run(`openState({lesson: 18, values: {
        layers: 4, width: 128, context: 256, batch: 64}})`);
    assert.match(await said(b), /memory/);
    await b.run('openState({lesson: 10})');
    assert.equal(await said(b), '');
  },

  async 'an engine that was closed is restarted'(b) {
    await open(b);
    await b.run('engine.patience = 5000, engine.worker.terminate(), refresh()');
    assert.match(await said(b), /restarted/);
    await b.run('engine.patience = 30000, refresh()');
    assert.equal(await said(b), '');
  },

  async 'a link restores lesson, values and step'(b) {
    await open(b);
    await b.run('openState({lesson: 1, values: {x: 0.75}, step: 3})');
    const hash = await b.run("'#play=' + stateText()"), printed = await b.run(
        "document.getElementById('printed').textContent");
    await open(b, hash);
    assert.equal(await b.run('play.lesson.number'), 1);
    assert.equal(await b.run('form.values.x'), 0.75);
    assert.equal(await b.run('play.step'), 3);
    assert.equal(await b.run("document.getElementById('printed').textContent"), printed);
    await open(b, '#play=%%%');  // not a state
    assert.equal(await b.run('play.lesson.number'), 10);
    const hostile = {lesson: 10, part: 7, step: -1, values: {q: 'x', k: [1], v: [[]], dout: {}}};
    await open(b, `#play=${btoa(JSON.stringify(hostile))}`);  // values of other types
    assert.equal(await said(b), '');
    assert.deepEqual(await b.run('form.edited()'), {});
  },

  async 'a text of 100,000 characters fits in a link'(b) {
    await open(b);
    await b.run("openState({lesson: 14, values: {text: 'abcdefgh'.repeat(12500)}})");
    assert.equal(await said(b), '');
    assert.equal(await b.run(`stateIn('#play=' + stateText()).values.text.length`), 100000);
  },

  async 'training runs, pauses and goes back to an earlier step with the same loss'(b) {
    await open(b);
    await b.run('openState({lesson: 5})');
    await b.run("document.getElementById('run').click()");
    await b.until('training.losses.length > 40', 60);
    await b.run("document.getElementById('run').click()");
    await b.until('!training.running', 60);
    const before = await b.run('training.losses');
    await b.run(`(() => {
      const slider = document.getElementById('rewind');
      slider.value = 20;
      slider.dispatchEvent(new Event('change'));
    })()`);
    await b.until('training.losses.length === 20 && play.busy === null', 60);
    assert.deepEqual(await b.run('training.losses'), before.slice(0, 20));
    assert.ok(await b.run("document.querySelector('#pictures canvas') !== null"));
  },

  async 'while a number is typed, the comparison is the value before the edit'(b) {
    await b.size(1400, 900);  // on a narrow page, the values are folded
    await open(b);
    const input = "document.querySelector('#field-q input.number')";
    await b.run(`${input}.focus(), ${input}.select()`);
    for (const key of ['-', '2', '5']) {
      await b.send('Input.insertText', {text: key});
      await b.run('play.busy');
    }
    assert.equal(await b.run(`${input}.value`), '-25');
    const q = "[...app.t.ops].find(op => op.op === 'matmul').in[0]";
    assert.equal(await b.run(`app.was(${q})[0]`), 1);
    await b.run('openState({lesson: 11})');  // another lesson is not a change
    assert.equal(await b.run('app.replaced'), false);
  },

  async 'inputs have the names of their fields'(b) {
    await open(b);
    await b.run('openState({lesson: 1})');
    assert.deepEqual(await b.run('[0, 1].map(id => app.t.tensor(id).name)'), ['w', 'x']);
  },

  async 'a part without operations shows what it prints'(b) {
    await open(b);
    await b.run("openState({lesson: 12, part: 'kinds'})");
    assert.ok(await b.run("document.getElementById('viewer').hidden"));
    assert.ok(await b.run("document.getElementById('output').open"));
  },

  async 'lesson 00 trains, and the page says why there is no trace'(b) {
    await open(b);
    await b.run('openState({lesson: 0, values: {layers: 1, heads: 1}})');
    assert.ok(await b.run("document.getElementById('viewer').hidden"));
    assert.match(await b.run("document.getElementById('untraced').textContent"), /own engine/);
    await b.run("document.getElementById('run').click()");
    await b.until('training.losses.length > 30', 60);
    await b.run("document.getElementById('run').click()");
    await b.until('!training.running', 60);
    assert.ok(await b.run('training.losses.at(-1) < 0.9 * training.losses[0]'));
    assert.ok(await b.run("document.querySelector('.sample').textContent.length > 50"));
    const losses = await b.run('training.losses.slice(0, 20)');
    await b.run(`(async () => {  // pictures do not change what follows
      await training.stop();
      play.step = 20;
      await refresh();
    })()`);
    assert.deepEqual(await b.run('training.losses'), losses);
    await b.run('openState({lesson: 10})');
    assert.ok(await b.run("document.getElementById('untraced').hidden"));
  },

  async 'a sentence explains the next backward pass, and the last one has no Step'(b) {
    await open(b);
    const pass = "document.getElementById('pass').textContent";
    assert.match(await b.run(pass), /^Backward pass 1 of 2: .* written out/);
    await b.run('nextStep()');
    assert.match(await b.run(pass), /^Backward pass 2 of 2: .* fused kernel/);
    assert.equal(await b.run('app.step().op.op'), 'attention');
    assert.ok(await b.run("document.getElementById('step').disabled"));
    await b.run('openState({lesson: 3})');
    assert.ok(await b.run("document.getElementById('step').hidden"));
  },

  async 'predict mode asks for a gradient before an edit takes effect'(b) {
    await open(b);
    await b.run('openState({lesson: 1})');
    const edit = text => b.run(`(async () => {
      const input = document.querySelector('#field-x input.number');
      input.value = '${text}';
      input.dispatchEvent(new Event('input', {bubbles: true}));
      await play.busy;
    })()`);
    const shown = "document.getElementById('guess').hidden === false";
    await edit('1');
    assert.ok(!await b.run(shown));
    await b.run("app.state.quiz = 1, app.render()");
    const before = await b.run("document.getElementById('printed').textContent");
    await edit('3');
    assert.match(await b.run("document.getElementById('question').textContent"),
                 /^You change x to 3\. db was /);
    assert.equal(await b.run("document.getElementById('printed').textContent"), before);
    await b.run(`document.getElementById('answer').value = 'x',
        document.querySelector('#guess button').click()`);
    const verdict = "document.getElementById('guess-verdict').textContent";
    const [, right] = (await b.run(verdict)).match(/^✗ No: db is (.+)\. 0 of 1 right so far\.$/);
    assert.ok(!await b.run(shown));
    assert.equal(await b.run('app.state.cell !== null'), true);
    await edit('1');
    await b.run("document.querySelector('#guess button').click()");  // no answer: not counted
    assert.equal(await b.run(verdict), '');
    await edit('3');
    await b.run(`document.getElementById('answer').value = '${right}'.replace('−', '-'),
        document.querySelector('#guess button').click()`);
    assert.match(await b.run(verdict), /^✓ Right.* 1 of 2 right so far\.$/);
  },

  async 'on a narrow page, fields come first, then the step, then plots and exercises'(b) {
    await b.size(390, 844);
    await open(b);
    await b.run('openState({lesson: 5})');
    const tops = ids => b.run(`${JSON.stringify(ids)}.map(
        id => document.getElementById(id).getBoundingClientRect().top)`);
    const narrow = await tops(['step', 'fields', 'viewer', 'curve', 'exercises']);
    assert.deepEqual(narrow, [...narrow].sort((x, y) => x - y));
    assert.ok(narrow[2] < 450, `the viewer starts at ${narrow[2]}`);
    await b.size(1400, 900);
    const wide = await tops(['viewer', 'step', 'curve', 'fields', 'exercises']);
    assert.deepEqual(wide, [...wide].sort((x, y) => x - y));
  },

  async 'a model learns a pasted text that lacks the letters of the prompt'(b) {
    await open(b);
    await b.run("openState({lesson: 18, values: {text: 'ab ba '.repeat(20), width: 16}})");
    await b.run("document.getElementById('run').click()");
    await b.until("document.querySelector('.sample')", 60);
    await b.run("document.getElementById('run').click()");
    await b.until('!training.running', 60);
    assert.equal(await said(b), '');
  },

  async 'values of the page are copied as a C++ program'(b) {
    await open(b);
    await b.run('openState({lesson: 4, values: {w: [[1, 0], [0, 2.5]]}})');
    assert.match(await b.run('program()'), /by_hand_and_by_engine\(.*\{\{1, 0\}, \{0, 2\.5\}\}/);
    assert.match(await b.run('program()'), /\.\/step\.sh 04/);
  },

  async 'an exercise shows formulas, and is graded by the checker'(b) {
    await open(b);
    assert.ok(await b.run("document.querySelectorAll('#choices button math').length >= 4"));
    assert.ok(!await b.run("/`/.test(document.getElementById('exercises').textContent)"));
    const grades = await b.run(`(async () => {
      const out = [];
      for (const {number, choices} of engine.exercises) {
        const all = [];
        for (const choice of choices.keys()) all.push(await engine.call('check', number, choice));
        out.push(all.map(each => each.correct && each.report.includes('GRADCHECK')));
      }
      return out;
    })()`);
    assert.ok(grades.length >= 20);
    for (const grade of grades) assert.equal(grade.filter(Boolean).length, 1);
  },
};

const looks = [[1400, 900, false], [1400, 900, true], [390, 844, false], [390, 844, true]];
async function accessible(b) {
  for (const [width, height, dark] of looks) {
    await b.size(width, height, {dark});
    for (const lesson of [10, 5, 18, 0]) {
      await open(b);
      await b.run(`openState({lesson: ${lesson}})`);
      await b.run(`for (const each of document.querySelectorAll('.side details'))
        each.open = true;`);
      assert.deepEqual([lesson, width, dark, ...await violations(b)], [lesson, width, dark]);
      assert.ok(await b.run('document.documentElement.scrollWidth <= innerWidth'), 'too wide');
    }
  }
}

needAxe();
runInBrowser({...cases, 'axe finds no violation, light and dark, wide and narrow': accessible});
