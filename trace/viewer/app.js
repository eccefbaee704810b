// A page that embeds the viewer needs this:
//
//   app.mount(element, trace)  draws a trace into an element. A trace is JSON, as text or parsed.
//   app.replace(trace, keep)   shows a new trace. The step, the value and the view stay selected,
//                              the trace shown before becomes the comparison, and changed values
//                              are marked. With keep, an earlier comparison stays.
//   app.restart(trace)         shows a new trace from its start, without a comparison.
//   app.recompute()            recomputes values from the recorded ops, and returns what differs.
//   app.changes(trace)         returns gradients that replace() would change.
//   app.math(formula)          returns a formula as a <math> element.
//
// `app` is the only global. Mount once. The viewer listens only inside its element and leaves the
// address alone, unless it is a page of its own: mount(element, trace, {page: true}). Its elements
// have ids (see frame.js), which the page must not use.

const kViews = {step: stepView, ledger: ledgerView, attention: attentionView, flow: flowView,
  storage: storageView, graph: graphView, source: sourceView, compare: compareView};
const kNames = Object.keys(kViews);

const app = {
  t: null, other: null, otherName: '', replaced: false, root: null, page: false, state: {},
  answers: new Map(), cache: new Map(), opened: new Set(),

  mount(element, trace, {page = false} = {}) {
    Object.assign(app, {root: element, page});
    element.classList.add('gradus');
    element.replaceChildren(...frame(page));
    listen();
    app.restart(trace);
  },
  restart(trace) {
    if (app.t) Object.assign(app, {other: null, otherName: '', replaced: false});
    app.open(openTape(parsed(trace)));
    app.state = read(app.page ? location.hash : '', app.t);
    app.render();
  },
  replace(trace, keep = false) {
    const before = app.t, t = openTape(parsed(trace)), {state} = app;
    const other = keep && app.replaced ? app.other : before;
    app.open(t);
    Object.assign(app, {other, otherName: 'before the change', replaced: true});
    const {cell} = state, same = cell && String(t.tensor(cell.id)?.shape) ===
      String(before.tensor(cell.id)?.shape);
    const s = sameStep(before, t, state.s) ? state.s : firstStep(t);
    app.state = {...state, s, cell: same ? cell : null};
    app.render();
  },
  /** Makes a trace the current one. */
  open(t) {
    Object.assign(app, {t, row: null, last: null});
    app.cache.clear(), app.answers.clear(), app.opened.clear();
    for (const m of t.modules)
      if (t.modules.length < 40 || m.parent == null) app.opened.add(m.id);
    byId('title').textContent = t.meta.title || 'a recorded step';
    notices();
  },
  /** Selects a first value, so that a newcomer sees what lights up. */
  welcome() {
    const {t} = app, outs = equationOps(t).slice(0, 3).map(op => t.tensor(op.out));
    const out = outs.find(x => cellsOf(x) && values(x) && sourcesOf(t, x.id, 0).length < 10);
    if (out) app.state.cell = {id: out.id, i: 0}, app.render();
  },
  /** Recomputes values of the current trace: {cells, unknown, failed}. */
  recompute() { return recompute(app.t, {cells: 0, unknown: 0, failed: []}); },
  math,
  /** The gradients of leaves that a new trace would change by more than rounding, one value of each:
      [{name, id, i, was, now}]. */
  changes(trace) {
    const t = openTape(parsed(trace)), twins = twinTensors(t, app.t), found = [];
    for (const {leaf} of t.deposits) {
      const g = gradOf(t, leaf), v = values(g), old = values(app.t.tensor(twins.get(g?.id)));
      const differs = (x, k) => Math.abs(x - old[k]) > 1e-5 * Math.abs(x);
      const i = v && v.length === old?.length ? v.findIndex(differs) : -1;
      if (i < 0 || !isFinite(v[i])) continue;
      const index = shownIndex(g, i).map(n => `[${n}]`).join('');
      found.push({name: `d${symbolOf(t, leaf)}${index}`, id: g.id, i, was: old[i], now: v[i]});
    }
    return found;
  },
  /** Handles a key that was pressed outside the viewer. */
  key(event) { onKey(event); },
  at() { return app.t.stepAt.get(app.state.s) ?? 0; },
  step() { return app.t.steps[app.at()]; },
  /** The result of f, computed once per recording. */
  once(key, f) {
    if (!app.cache.has(key)) app.cache.set(key, f());
    return app.cache.get(key);
  },
  /** The values that a tensor had before replace(), or null. */
  was(id) {
    if (!app.replaced) return null;
    const twin = app.once('twins', () => twinTensors(app.t, app.other)).get(id);
    const v = values(app.other.tensor(twin));
    return v?.length === values(app.t.tensor(id))?.length ? v : null;
  },
  arithmetic(c = app.state.cell) {
    if (!c) return null;
    if (app.last?.c !== c) app.last = {c, a: cellArithmetic(app.t, c.id, c.i)};
    return app.last.a;
  },
  lit() { return app.litNow || (app.litNow = litCells()); },
  say(text) { byId('live').textContent = text; },
  cell(id, i) { app.go({cell: {id, i}}), app.say(byId('sum').textContent); },
  lead(fromEnd, n) {
    const more = Math.max(0, fromEnd - app.state.lead.length);
    const lead = [...Array(more).fill(0), ...app.state.lead];
    lead[lead.length - fromEnd] = n;
    app.go({lead});
  },
  go(change) {
    const moved = change.s && change.s !== app.state.s;
    const turned = change.v && change.v !== app.state.v;
    Object.assign(app.state, moved && {cell: null}, (moved || turned) && {t: null}, change);
    if (moved) app.row = null;
    clearTimeout(app.later);  // browsers limit the rate of history calls
    const save = () => history.replaceState(null, '', '#' + write(app.state));
    if (app.page) app.later = setTimeout(save, 100);
    app.render();
    if (!moved) return;
    app.say(sentence(app.t, app.step(), app.at()));
    app.show()?.classList.add('moved');
  },
  /** Scrolls to the current step in the equation. */
  show() {
    const now = app.root.querySelector('.plate.now');
    now?.scrollIntoView({block: 'nearest'});
    return now;
  },
  /** Moves by n steps; the equation skips the steps that it folds. */
  by(n) {
    const {t, state} = app, shown = app.once('shown', () => new Set(equationOps(t)));
    const stops = state.v !== 'step' || state.unfold ? t.steps :
      t.steps.filter(s => !s.op || shown.has(s.op));
    const next = stops.findIndex(s => t.stepAt.get(s.key) >= app.at());
    const here = next < 0 ? stops.length : next, between = stops[here] !== app.step();
    app.go({s: stops[clamp(here + n - (between && n > 0), stops.length)]?.key});
  },
  list(n, height, draw, at, label, more = '') {
    const onkeydown = e => {
      const by = {ArrowDown: 1, ArrowUp: -1}[e.key];
      if (by) e.preventDefault(), e.stopPropagation(), draw(clamp(at + by, n)).click();
    };
    const props = {role: 'listbox', label, class: `long ${more}`, onkeydown};
    return longList(n, height, draw, at, props);
  },
  /** Compares with the trace in a file, which is a page or JSON. */
  load(name, text) {
    const body = text.match(/<script type="application\/json" id="tape"[^>]*>([^]*?)<\/script>/);
    const other = openTape(parsed(body ? body[1] : text));
    Object.assign(app, {other, otherName: name, replaced: false});
    app.cache.delete('compare'), app.go({v: 'compare', t: null});
  },
  render() {
    const keep = focusKey(), {state, root} = app, view = kViews[state.v] || stepView;
    app.litNow = app.pointed = null;
    clearTimeout(app.pointing);
    drawBars();
    byId('stage').replaceChildren(...view(app).flat(9).filter(Boolean));
    byId('left').replaceChildren(...state.tree ? tree() : []);
    byId('right').replaceChildren(...explain().filter(Boolean));
    byId('board').className = `${state.v}-view ${state.tree ? 'with-tree' : ''}`;
    root.querySelectorAll('.long').forEach(list => list.place?.());
    byId('sum').replaceChildren(...arithmetic(state.cell));
    light(state.cell);
    focusAgain(keep);
  },
};

const parsed = trace => typeof trace === 'string' ? JSON.parse(trace) : trace;

/** True if a step is the same operation in traces a and b. If a shows it, b must show it, too. */
function sameStep(a, b, key) {
  const [old, now] = [a, b].map(t => t.steps[t.stepAt.get(key)]);
  const inside = (t, {op}) => !op || equationOps(t).includes(op);
  return old && now && old.op?.op === now.op?.op && (inside(b, now) || !inside(a, old));
}

/** The tensors of b in the places of those of a: results, inputs, and their gradients. */
function twinTensors(a, b) {
  const twins = new Map();
  const pair = (x, y) => x != null && y != null && !twins.has(x) && twins.set(x, y);
  for (const {a: x, b: y} of align(a, b)) {
    if (!y) continue;
    const places = [[x.out, y.out], ...x.in.map((id, k) => [id, y.in[k]])];
    for (const [id, twin] of places) {
      pair(id, twin);
      pair(gradOf(a, id)?.id, gradOf(b, twin)?.id);
    }
  }
  return twins;
}

// ---- the address ----
const kNumbers = ['t', 'axis', 'whole', 'quiz', 'plain', 'unfold', 'tree'];
function write(s) {
  const out = [`s=${s.s ?? ''}`, `v=${s.v}`];
  if (s.cell) out.push(`cell=${s.cell.id}.${s.cell.i}`);
  if (s.lead.some(Boolean)) out.push(`lead=${s.lead.join('.')}`);
  for (const k of kNumbers) if (s[k] != null) out.push(`${k}=${s[k]}`);
  return out.join('&');
}
/** The first step of the equation. */
const firstStep = t => t.ops.length ? `f${equationOps(t)[0].id}` : t.steps[0]?.key;
function read(hash, t) {
  const q = new URLSearchParams(hash.replace(/^#/, ''));
  const whole = x => /^\d{1,9}$/.test(x) ? +x : null;
  const [id, i] = (q.get('cell') || '').split('.').map(whole), tensor = t.tensor(id);
  const s = {
    s: t.stepAt.has(q.get('s')) ? q.get('s') : firstStep(t),
    v: Object.hasOwn(kViews, q.get('v')) ? q.get('v') : 'step',
    cell: tensor && i != null && i < numel(tensor.shape) ? {id, i} : null,
    lead: (q.get('lead') || '').split('.').map(x => whole(x) ?? 0),
  };
  for (const k of kNumbers) s[k] = q.has(k) ? whole(q.get(k)) : null;
  return s;
}

/** Drawing replaces elements. These functions move the focus to the equivalent new element. */
const meaning = e =>
  e.getAttribute('aria-label') || e.closest('label')?.textContent || e.textContent;
const tablesOf = (box, id) => [...box.querySelectorAll(`table[data-id="${id}"]`)];
function focusKey() {
  const e = document.activeElement, box = e && e.closest('#stage,#left,#right');
  if (!box || e === box || !app.root.contains(e)) return null;
  const table = e.closest('table[data-id]'), id = table?.dataset.id;
  return {box, id, nth: table && tablesOf(box, id).indexOf(table), text: meaning(e)};
}
function focusAgain(k) {
  if (!k) return;
  const all = [...k.box.querySelectorAll('button,input,select,summary,[tabindex]')];
  const tables = k.id ? tablesOf(k.box, k.id) : [], table = tables[k.nth] || tables[0];
  const same = k.id ? table?.querySelector('td[tabindex="0"]') :
    all.find(e => meaning(e) === k.text && !e.disabled);
  (same || k.box.querySelector('[data-next]') || k.box).focus({preventScroll: !k.id});
}

// ---- a page of its own ----
function start() {
  const script = document.getElementById('tape'), other = document.getElementById('other');
  const text = script.textContent, told = script.dataset.crc32;
  const wrong = told !== crc32(text) &&
    `This file was modified: the recording does not match its checksum ${told}. `;
  const page = document.getElementById('viewer');
  if (other) {
    app.other = openTape(JSON.parse(other.textContent));
    app.otherName = app.other.meta.title || 'the other trace';
  }
  try {
    app.mount(page, text, {page: true});
    if (wrong) notices(wrong);
  } catch (error) {
    app.mount(page, {schema: 'gradus-tape/1'}, {page: true});
    notices(`${wrong || ''}The recording cannot be read: ${error.message}`);
  }
  if (location.hash) app.show();
  else app.welcome();
  if (location.hash === '#selftest') selftest();
}
if (globalThis.document) {
  globalThis.app = app;
  if (document.getElementById('tape')) start();
}
