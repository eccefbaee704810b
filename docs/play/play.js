// The playground: pick a lesson, edit its values, see every operation of the engine's step.

const play = {
  lesson: null, part: null, step: 1, wanted: 0, busy: null, later: 0,
  begun: false,  // true if the engine holds a session of this part
  opened: false,  // true until the first trace of a part is shown
  edited: false,  // true after the first change since a field got the focus
};

function say(text, good = false) {
  byName('said').textContent = text;
  byName('said').classList.toggle('good', good);
}

/** Fills the lists of lessons and parts, and opens the part of the address. */
function openState(state) {
  const {lessons} = engine;
  play.lesson = lessons.find(each => each.number === state.lesson) || lessons.find(
      each => each.number === 10) || lessons[0];
  play.part = play.lesson.parts.find(each => each.name === state.part) || play.lesson.parts[0];
  play.step = Number.isInteger(state.step) && state.step > 0 ? state.step : 1;
  byName('lesson').replaceChildren(...lessons.map(each => make('option',
      {value: String(each.number), selected: each === play.lesson},
      `${String(each.number).padStart(2, '0')} ${each.title}`)));
  byName('part').replaceChildren(...play.lesson.parts.map(each => make('option',
      {value: each.name, selected: each === play.part}, each.title)));
  byName('part').parentElement.hidden = play.lesson.parts.length === 1;
  for (const each of document.querySelectorAll('.training')) each.hidden = !play.part.training;
  byName('step').hidden = false;
  byName('pass').textContent = '';
  byName('program').textContent = play.lesson.source ? 'Copy C++' : 'Copy command';
  byName('values').hidden = play.part.fields.length === 0;
  play.opened = true;
  training.most = 0;
  form.open(play.part, state.values || {}, () => {
    predict.due = true;
    play.step = 1;
    training.most = 0;
    refresh();
  });
  return refresh();
}

/** Runs the part with the values of the form. Edits during a run are combined into one more run. */
async function refresh() {
  play.wanted++;
  if (play.busy) return play.busy;
  play.busy = (async () => {
    for (let done = 0; done !== play.wanted;) {
      done = play.wanted;
      await attempt(() => runOnce(done));
    }
    play.busy = null;
  })();
  return play.busy;
}

/** `turn` is the number of the edit. A later edit ends the way back to an earlier step. */
async function runOnce(turn) {
  await training.stop();
  training.reset();
  predict.close();
  byName('guess-verdict').textContent = '';
  byName('step').disabled = play.begun = false;
  const {text} = await engine.call('begin', play.lesson.number,
                                   {part: play.part.name, ...form.values});
  play.begun = true;
  if (play.part.training) {
    while (training.losses.length < play.step - 1) {
      if (turn !== play.wanted) return;
      const {losses} = await engine.call('steps', play.step - 1 - training.losses.length, 1000);
      training.losses.push(...losses);
      training.draw();
    }
  } else {
    for (let step = 1; step < play.step; ++step) await engine.call('step');
  }
  await showStep(text);
}

/** Makes a traced step, which gets the number `step`, and shows it. */
async function showStep(before = '', step = play.step) {
  const {trace, text, loss, passes} = await engine.call('step');
  play.step = step;
  const json = JSON.parse(trace);
  if (json.meta) json.meta.program = play.lesson.source.replace(/^.*\/|\.cpp$/g, '');
  if (json.tensors) nameInputs(json);
  const show = () => showTrace(json, before + text);
  if (!predict.ask(json, show)) show();
  if (play.part.training) {
    training.losses.push(loss);
    training.draw();
    await training.show();
  } else {
    showPass(passes);
  }
  form.complain('', '');
  say('');
  byName('viewer').classList.remove('old');
  keepAddress();
}

function showTrace(json, printed) {
  byName('viewer').hidden = !json.ops;
  byName('untraced').hidden = Boolean(json.ops);
  byName('untraced').textContent = play.part.untraced ||
      'This part has no operation to step through. See what the program prints.';
  if (!json.ops) byName('output').open = true;
  else if (!app.t) app.mount(byName('viewer'), json);
  else if (play.opened) app.restart(json);
  else app.replace(json, play.edited);
  if (json.ops) play.opened = false;
  play.edited = true;
  byName('printed').textContent = printed;
}

/** Says which of the program's backward passes is shown. */
function showPass(passes) {
  const what = play.part.passes[play.step - 1];
  byName('step').hidden = passes <= 1;
  byName('step').disabled = play.step >= passes;
  const text = `Backward pass ${play.step} of ${passes.toLocaleString('en')}`;
  byName('pass').replaceChildren(
      ...passes <= 1 ? [] : what ? [`${text}: `, ...prose(what)] : [`${text}.`]);
}

/** Puts the state into the address, a little later: browsers limit the rate. */
function keepAddress() {
  clearTimeout(play.later);
  play.later = setTimeout(() => history.replaceState(null, '', `#play=${stateText()}`), 300);
}

/** Calls f and shows its failure. Restarts an engine that has died. */
async function attempt(f) {
  try {
    await f();
    return true;
  } catch (error) {
    if (!form.complain(error.field || '', error.message)) say(error.message);
    byName('viewer').classList.add('old');
    if (error.dead) {
      play.begun = false;
      await engine.open();
    }
    return false;
  }
}

/** Shows a trace from a file: a page written with GRADUS_TRACE, or its JSON. */
async function openFile(file) {
  if (!file) return;
  try {
    const text = await file.text();
    const body = text.match(/<script type="application\/json" id="tape"[^>]*>([^]*?)<\/script>/);
    byName('viewer').hidden = false;
    byName('untraced').hidden = true;
    const trace = JSON.parse(body ? body[1] : text);
    if (app.t) app.restart(trace);
    else app.mount(byName('viewer'), trace);
    say('');
  } catch (error) {
    say(`${file.name} is not a trace: ${error.message}`);
  }
}

function nextStep() {
  return attempt(async () => {
    await training.stop();
    await play.busy;
    if (predict.reveal) return predict.reveal();
    if (!play.begun) return refresh();  // shows again why it did not start
    play.edited = false;
    await showStep('', (play.part.training ? training.losses.length : play.step) + 1);
  });
}

function copy(text, what) {
  return navigator.clipboard.writeText(text).then(() => say(`${what} copied.`, true),
                                                 () => say(`The browser refused to copy: ${text}`));
}

/** On a narrow page, plots and exercises follow the step. */
function arrange(narrow) {
  const [more, plots] = [byName('more'), byName('training')];
  byName(narrow ? 'playground' : 'play').append(more);
  if (narrow) more.prepend(plots);
  else byName('values').before(plots);
}

function listen() {
  byName('lesson').onchange = event => openState({lesson: Number(event.target.value)});
  byName('part').onchange = event =>
      openState({lesson: play.lesson.number, part: event.target.value});
  byName('step').onclick = nextStep;
  byName('restore').onclick = () => openState({lesson: play.lesson.number, part: play.part.name});
  byName('run').onclick = () => attempt(async () => {
    if (training.running) return training.stop();
    if (!play.begun) return refresh();
    await training.run();
    play.step = training.losses.length;
    keepAddress();
  });
  byName('rewind').onchange = async event => {
    const step = Number(event.target.value);
    await training.stop();
    play.step = step;
    refresh();
  };
  byName('rewind').oninput = event => {
    byName('made').textContent = `back to step ${event.target.value}`;
  };
  byName('fields').addEventListener('focusin', () => { play.edited = false; });
  document.addEventListener('keydown', event => {
    if (event.target === document.body && app.t) app.key(event);
  });
  byName('link').onclick = () => copy(new URL(`#play=${stateText()}`, location.href).href, 'Link');
  byName('program').onclick = () => copy(program(), 'Program');
  byName('trace').onchange = event => openFile(event.target.files[0]);
  window.addEventListener('hashchange', () => {
    const state = stateIn(location.hash);
    if ('lesson' in state) openState(state);
  });
}

async function start() {
  const testing = location.hash === '#selftest';
  try {
    const narrow = matchMedia('(max-width: 800px)');
    narrow.onchange = () => arrange(narrow.matches);
    arrange(narrow.matches);
    await engine.open();
    listen();
    exercises.open();
    await openState(stateIn(location.hash));
    if (testing) await selftest();
  } catch (error) {
    say(`The engine does not start: ${error.message}`);
  }
}

start();
