// What surrounds the views: tabs, panels, dialogs, keys.

const kTabs = [['1', 'Equation'], ['2', 'Gradients'], ['3', 'Attention'], ['4', 'Layers']];
const kMoreTabs = [['5', 'Memory layout'], ['6', 'Graph of operations'], ['7', 'Source code'],
  ['8', 'Compare two traces']];
const kKeys = [['→ n ←', 'next, previous step'], ['b', 'switch between forward and backward'],
  ['arrows', 'select another value or list item'], ['Esc', 'clear the selection'],
  ['1 … 8', 'views'], ['u', 'show or fold reshapes'], ['l', 'list of operations'],
  ['i o', 'enter, leave a layer'], ['t', 'last forward step, the loss'],
  ['Home End', 'first, last step'], ['[ ]', 'previous, next attention'], ['/', 'search'],
  ['p', 'predict mode'], ['m', 'plain tables'], ['c', 'copy the gdb command']];

/** The elements of the viewer. */
function frame(page) {
  const key = (k, text, more) => button(text, null, {'data-key': k, ...more});
  const tab = ([k, text]) => key(k, [text, h('kbd', {'aria-hidden': 'true'}, k)], {label: text});
  const dialog = (id, label, ...kids) => h('dialog', {id, label}, h('h2', {}, label), kids,
    h('form', {method: 'dialog'}, h('button', {}, 'close')));
  return [
    page && h('a.skip', {href: '#stage', onclick: e => {
      e.preventDefault(), byId('stage').focus();
    }}, 'Skip to the values'),
    h(page ? 'header' : 'div', {class: 'head'},
      h('div.top', {}, h(page ? 'h1' : 'h2', {id: 'title'}), h('div', {id: 'notices'})),
      h('div.bar', {},
        h('nav.bar', {id: 'views', label: 'views'}, kTabs.map(tab),
          h('details.more', {}, h('summary', {}, 'More'), h('div', {}, kMoreTabs.map(tab)))),
        h('span.gap', {}),
        key('l', 'List', {id: 'tree', 'aria-pressed': 'false', label: 'list of operations'}),
        key('p', 'Predict', {id: 'quiz', 'aria-pressed': 'false'}),
        key('m', 'Tables', {id: 'plain', 'aria-pressed': 'false'}),
        key('/', 'Search'), key('?', 'Keys'))),
    h('div', {id: 'board'},
      h('nav', {id: 'left', label: 'layers and operations'}),
      h(page ? 'main' : 'div', {id: 'stage', tabindex: -1,
        onpointerover: onPoint, onpointermove: onPoint, onpointerleave: onPoint,
        onfocusin: onPoint}),
      h('aside', {id: 'right', label: 'explanation'})),
    h('section', {id: 'turn', label: 'arithmetic and steps'},
      h('div', {id: 'sum', tabindex: 0, role: 'group', label: 'arithmetic of the value'}),
      h('div.drive', {},
        key('Home', '⇤', {label: 'first'}), key('ArrowLeft', '←', {label: 'previous'}),
        h('input', {id: 'at', type: 'range', min: 0, label: 'step',
          onchange: e => app.go({s: app.t.steps[+e.target.value].key})}),
        key('ArrowRight', '→', {label: 'next'}), key('End', '⇥', {label: 'last'}),
        key('b', '⇄', {label: 'switch between forward and backward'}),
        h('span', {id: 'where'}))),
    dialog('help', 'Keys',
      h('dl', {}, kKeys.map(([k, text]) => [h('dt', {}, k), h('dd', {}, text)]))),
    dialog('search', 'Search', h('input', {type: 'search', label: 'search', oninput: search}),
      h('div', {id: 'found'})),
    h('p', {id: 'live', 'aria-live': 'polite'}),
  ].filter(Boolean);
}

/** Marks the current view, modes and step. */
function drawBars() {
  const {t, state} = app, at = app.at(), n = t.steps.length, slider = byId('at');
  const more = byId('views').querySelector('.more');
  const inMore = kNames.indexOf(state.v) >= kTabs.length;
  for (const b of byId('views').querySelectorAll('[data-key]'))
    b.setAttribute('aria-current', kNames[b.dataset.key - 1] === state.v ? 'page' : 'false');
  byId('views').querySelector('[data-key="3"]').hidden = !t.attention.length;
  more.open = false, more.classList.toggle('current', inMore);
  for (const key of ['quiz', 'plain', 'tree']) byId(key).setAttribute('aria-pressed', !!state[key]);
  const text = sentence(t, app.step(), at);
  app.root.querySelector('.drive').hidden = !n;
  byId('where').textContent = text;
  slider.max = Math.max(0, n - 1), slider.value = at, slider.setAttribute('aria-valuetext', text);
}
function sentence(t, step, at) {
  if (!step) return t.meta.title || 'nothing was recorded';
  const name = step.op?.op ?? (step.visit ? step.visit.name || 'an operation' : 'the optimizer');
  const out = step.op && t.tensor(step.op.out), path = step.op && pathOf(t, step.op.module);
  const asked = app.state.quiz && !app.answers.has(step.key);  // the shape may be the answer
  return [`step ${at + 1} of ${t.steps.length}: ${step.dir}`, name, path,
    out && !asked && shapeText(out.shape)].filter(Boolean).join(', ');
}

// ---- panels ----
function tree() {
  const {t} = app, rows = app.once('rows', () => treeRows(t, app.opened));
  const at = app.row ?? rowOf(t, rows, app.step()?.op);
  const hit = i => {
    const r = rows[i];
    if (!r) return;
    app.row = i;
    if (r.op) return app.go({s: 'f' + r.op.id});
    app.opened.delete(r.key) || app.opened.add(r.key);
    app.cache.delete('rows'), app.render();
  };
  const inner = m => m.path.slice(pathOf(t, m.parent).length).replace(/^\./, '') || 'outermost';
  const titled = ({op, module, kids}) => op ? [op.op, `#${op.id}`] : module ?
    [inner(module), module.type] : [`${inner(kids[0].module)} …`, `${kids.length} similar`];
  const draw = i => {
    const r = rows[i], open = r.kids && app.opened.has(r.key), [name, more] = titled(r);
    const style = {paddingLeft: `${Math.min(r.level, 8) * 10}px`}, mark = open ? '▾ ' : '▸ ';
    return h('div', {role: 'treeitem', id: `row${i}`, class: 'item', 'aria-level': r.level,
      'aria-posinset': r.at, 'aria-setsize': r.of, 'aria-expanded': r.kids ? String(open) : null,
      'aria-selected': String(i === at), onclick: () => hit(i)},
    h('span', {style}, r.kids && mark, `${name} `, h('small', {}, more)));
  };
  const box = longList(rows.length, 24, draw, at, {role: 'tree', label: 'layers and operations',
    'aria-activedescendant': at >= 0 ? `row${at}` : null, onkeydown: e => {
      const r = rows[at], by = {ArrowDown: 1, ArrowUp: -1}[e.key];
      const folds = r?.kids && /^Arrow(Left|Right)$/.test(e.key) &&
        (e.key === 'ArrowRight') !== app.opened.has(r.key);
      if (by) app.row = clamp(at + by, rows.length), app.render();
      else if (e.key === 'Enter' || folds) hit(at);
      else return;
      e.preventDefault(), e.stopPropagation();
    }});
  return [h('h2', {}, plural(t.ops.length, 'operation')), box];
}

/** The formula of the current op, its derivation, and where it is in the code. */
function explain() {
  const {t} = app, step = app.step(), op = step?.op;
  if (!op) return [h('h2', {}, 'Explanation'), note('No operation.')];
  const d = t.opdefs[op.op] || {}, user = t.stacks.get(op.stack)?.user, {visit} = step;
  const twin = t.twin.get(op.id), inputs = op.in.filter(id => id != null).map(id => shapeIn(t, id));
  const lines = (d.derivation || []).map(line => line.split(/ *⟵ */));
  const own = d.lines?.[0].match(/\/\/ ?(.*)/)?.[1];
  const split = Math.max(1, lines.findIndex(([f]) => f.includes('∂')));
  const formulas = all => h('div.formulas', {}, all.map(([line, why]) =>
    h('div.formula', {}, math(line.trim()), why && h('small', {}, why))));
  return [h('h2', {}, op.op.replace(/_/g, ' '), visit ? ', backward' : ''),
    lines.length ? formulas(lines.slice(0, split)) : own && h('p.formula', {}, own),
    note(`${inputs.join(' , ')} → ${
      app.state.quiz && !app.answers.has(step.key) ? '?' : shapeIn(t, op.out)}`),
    lines.length > split && h('details', {open: !!visit}, h('summary', {}, 'backward, derived'),
      formulas(lines.slice(split))),
    para(visit ? goTo('f' + op.id, 'forward pass') : twin == null ? 'not reached by backward' :
      goTo(t.steps[twin].key, 'backward pass')),
    visit?.gin.map(g => note(`to ${nameOf(t, g.to)}: ${ledgerLine(t, g)}`)),
    details('code', () => [gdbLine(op), opSource(t, op, visit), user != null && sourceOf(t, user)]
      .filter(Boolean))].flat(9);
}

function notices(problem) {
  const {t} = app, f = t.failure, notes = t.meta.notes || [];
  const bad = (...kids) => h('div.bad', {role: 'alert'}, '✗ ', kids);
  const frames = () => (t.stacks.get(f.stack)?.frames || []).slice(0, 6).map(k => sourceOf(t, k));
  const failed = f && [f.op, 'threw',
    f.in.length && `on ${f.in.map(id => shapeIn(t, id)).join(' and ')}`,
    f.module != null && `in ${pathOf(t, f.module) || 'the outermost layer'}`];
  byId('notices').replaceChildren(...[
    problem && bad(problem),
    f && bad(`${failed.filter(Boolean).join(' ')}: `, f.message, details('where', frames)),
    notes.length && details(`Not recorded (${notes.length})`, () => notes.map(n => para(n))),
  ].filter(Boolean));
}

// ---- keys ----
function twinStep() {
  const {t} = app, {op, dir} = app.step() || {};
  const i = op && (dir === 'forward' ? t.twin.get(op.id) : t.stepAt.get(`f${op.id}`));
  if (i != null) app.go({s: t.steps[i].key});
}
function jump(by, wanted) {
  const {steps} = app.t;
  for (let i = app.at() + by; steps[i]; i += by)
    if (wanted(steps[i])) return app.go({s: steps[i].key});
}
function into(inside) {
  const here = app.step()?.op?.module, p = pathOf(app.t, here);
  jump(1, s => s.op && s.op.module !== here &&
    inside === pathOf(app.t, s.op.module).startsWith(p));
}
const flip = key => () => app.go({[key]: app.state[key] ? null : 1});
const show = id => () => byId(id).showModal();
const isAttention = s => /attention|softmax/.test(s.op?.op);
const kActions = {
  n: () => app.by(1), ArrowRight: () => app.by(1), ArrowLeft: () => app.by(-1),
  Home: () => app.by(-app.t.steps.length), End: () => app.by(app.t.steps.length),
  b: twinStep, i: () => into(true), o: () => into(false), '/': show('search'), '?': show('help'),
  t: () => app.go({s: app.t.steps[Math.max(0, app.t.ops.length - 1)]?.key}),
  ']': () => jump(1, isAttention), '[': () => jump(-1, isAttention),
  p: flip('quiz'), m: flip('plain'), u: flip('unfold'), l: flip('tree'),
  c: () => app.step()?.op && copy(gdbCommand(app.t, app.step().op)),
  Escape: () => app.state.cell ? app.go({cell: null}) : byId('stage').focus(),
};
function press(key) {
  const v = kNames[+key - 1];
  const act = v ? () => app.go({v}) : Object.hasOwn(kActions, key) && kActions[key];
  if (act) act();
  return !!act;
}
function onKey(e) {  // also called by a page that embeds the viewer, as app.key
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) ||
      app.root.querySelector('dialog[open]')) return;
  if (press(e.key)) e.preventDefault();
}
function search(e) {
  const word = e.target.value.toLowerCase(), hits = [], {t} = app;
  for (const s of word ? t.steps : []) {
    const {op} = s;
    const names = op && [op.op, pathOf(t, op.module), ...op.in.map(id => t.tensor(id)?.name)];
    const text = [s.key, s.dir, names].flat().filter(Boolean).join(' ');
    const go = () => { byId('search').close(), app.go({s: s.key}); };
    if (text.toLowerCase().includes(word) && hits.push(button(text, go)) > 20) break;
  }
  byId('found').replaceChildren(...hits.map(b => para(b)));
}

/** Listens to keys and clicks: in the element, or in the whole page if it is the viewer's. */
function listen() {
  const {root, page} = app;
  root.addEventListener('click', e => {
    const key = e.target.closest?.('[data-key]')?.dataset.key;
    if (key) press(key);
  });
  (page ? document : root).addEventListener('keydown', onKey);
  kDark?.addEventListener('change', () => app.render());
  if (page) window.addEventListener('hashchange', () => {
    app.state = read(location.hash, app.t), app.render();
  });
}

// ---- self-test ----
/** Visits each step in each view, and recomputes values. The result is in #selftest. */
async function selftest() {
  const failed = [], {t} = app, {steps} = t;
  const count = {steps: steps.length, failed, cells: 0, unknown: 0};
  const attempt = (what, f) => { try { f(); } catch (e) { failed.push(`${what}: ${e}`); } };
  window.addEventListener('error', e => failed.push(e.message));
  for (const [k, v] of kNames.entries()) {  // the first view shows all steps
    const some = steps.filter((_, i) => !k || i % (1 + steps.length / 20 | 0) < 1);
    for (const s of [...some, some[0]]) attempt(`${v} ${s?.key}`, () => app.go({v, s: s?.key}));
    await new Promise(go => setTimeout(go));
  }
  recompute(t, count);
  clearTimeout(app.later);  // the address stays as it is
  app.root.append(h('pre', {id: 'selftest'}, JSON.stringify(count)));
}
/** Recomputes the first, middle and last value of each result and gradient. Adds to `count`. */
function recompute(t, count) {
  const check = (id, what) => {
    const n = values(t.tensor(id))?.length;
    for (const i of new Set(n ? [0, n >> 1, n - 1] : [])) {
      const a = cellArithmetic(t, id, i);
      ++count[a.why ? 'unknown' : 'cells'];
      if (!a.why && !a.agrees)
        count.failed.push(`${what} [${i}]: ${a.value}, recorded ${a.recorded}`);
    }
  };
  const attempt = (what, f) => { try { f(); } catch (e) { count.failed.push(`${what}: ${e}`); } };
  for (const op of t.ops) attempt(`f${op.id}`, () => check(op.out, `f${op.id} ${op.op}`));
  for (const e of t.ledger) attempt(`b${e.visit}`, () => {
    check(e.contribution, `b${e.visit} input ${e.input}`);
    if (entryHolds(t, e) === false)
      count.failed.push(`ledger ${e.id}: before + contribution is not after`);
  });
  return count;
}
