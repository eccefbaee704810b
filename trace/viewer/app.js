// State (stored in the address), drawing, keys, self-test.

const kViews = {step: stepView, ledger: ledgerView, attention: attentionView, flow: flowView, storage: storageView,
                graph: graphView, source: sourceView, compare: compareView};

const kNames = Object.keys(kViews);

const app = {
  t: null, other: null, otherName: '', state: {}, answers: new Map(), cache: new Map(), opened: new Set(),
  at() { return app.t.stepAt.get(app.state.s) ?? 0; },
  step() { return app.t.steps[app.at()]; },
  /** The result of f, computed once per recording. */
  once(key, f) {
    if (!app.cache.has(key)) app.cache.set(key, f());
    return app.cache.get(key);
  },
  arithmetic() {
    const c = app.state.cell;
    if (!c) return null;
    if (app.last?.c !== c) app.last = {c, a: cellArithmetic(app.t, c.id, c.i)};
    return app.last.a;
  },
  lit() { return app.litNow || (app.litNow = litCells()); },
  say(text) { byId('live').textContent = text; },
  cell(id, i) { app.go({cell: {id, i}}); },
  lead(fromEnd, n) {
    const lead = [...Array(Math.max(0, fromEnd - app.state.lead.length)).fill(0), ...app.state.lead];
    lead[lead.length - fromEnd] = n;
    app.go({lead});
  },
  go(change) {
    const moved = change.s && change.s !== app.state.s, turned = change.v && change.v !== app.state.v;
    app.state = {...app.state, ...moved && {cell: null}, ...(moved || turned) && {t: null}, ...change};
    if (moved) app.row = null;
    clearTimeout(app.later);  // browsers limit the rate of history calls
    app.later = setTimeout(() => history.replaceState(null, '', '#' + write(app.state)), 100);
    app.render();
    if (moved) app.say(sentence(app.t, app.step(), app.at()));
  },
  by(n) { app.go({s: app.t.steps[clamp(app.at() + n, app.t.steps.length)]?.key}); },
  list(n, height, draw, at, label, more = '') {
    return longList(n, height, draw, at, {role: 'listbox', label, class: `long ${more}`, onkeydown: e => {
      const by = {ArrowDown: 1, ArrowUp: -1}[e.key];
      if (by) e.preventDefault(), e.stopPropagation(), draw(clamp(at + by, n)).click();
    }});
  },
  load(name, text) {
    const body = text.match(/<script type="application\/json" id="tape"[^>]*>([^]*?)<\/script>/);
    app.other = openTape(JSON.parse(body ? body[1] : text)), app.otherName = name;
    app.cache.delete('compare'), app.go({v: 'compare', t: null});
  },
  render() {
    const keep = focusKey();
    app.litNow = null;
    const {state} = app, view = kViews[state.v] || stepView;
    [...byId('views').children].forEach((b, k) =>
      b.setAttribute('aria-current', kNames[k] === state.v ? 'page' : 'false'));
    for (const key of ['quiz', 'plain']) byId(key).setAttribute('aria-pressed', !!state[key]);
    byId('stage').replaceChildren(h('h2.where', {}, sentence(app.t, app.step(), app.at())),
        ...view(app).flat(9).filter(Boolean));
    byId('left').replaceChildren(...tree());
    byId('right').replaceChildren(...explain().filter(Boolean));
    timeline();
    document.querySelectorAll('.long').forEach(l => l.place && l.place());
    focusAgain(keep);
  },
};

// ---- the address ----
const kNumbers = ['t', 'axis', 'whole', 'quiz', 'plain'];
function write(s) {
  const out = [`s=${s.s ?? ''}`, `v=${s.v}`];
  if (s.cell) out.push(`cell=${s.cell.id}.${s.cell.i}`);
  if (s.lead.some(Boolean)) out.push(`lead=${s.lead.join('.')}`);
  for (const k of kNumbers) if (s[k] != null) out.push(`${k}=${s[k]}`);
  return out.join('&');
}
function read(hash, t) {
  const q = new URLSearchParams(hash.replace(/^#/, '')), whole = x => /^\d{1,9}$/.test(x) ? +x : null;
  const [id, i] = (q.get('cell') || '').split('.').map(whole), tensor = t.tensor(id);
  const s = {s: t.stepAt.has(q.get('s')) ? q.get('s') : t.steps[0]?.key,
             v: Object.hasOwn(kViews, q.get('v')) ? q.get('v') : 'step',
             cell: tensor && i != null && i < numel(tensor.shape) ? {id, i} : null,
             lead: (q.get('lead') || '').split('.').map(x => whole(x) ?? 0)};
  for (const k of kNumbers) s[k] = q.has(k) ? whole(q.get(k)) : null;
  return s;
}

// ---- around the stage ----
function sentence(t, step, at) {
  if (!step) return t.meta.title || 'nothing was recorded';
  const name = step.op ? step.op.op : step.visit ? step.visit.name || 'an operation' : 'the optimizer';
  const out = step.op && t.tensor(step.op.out), path = step.op && pathOf(t, step.op.module);
  return [`step ${at + 1} of ${t.steps.length}: ${step.dir}`, name, path,
      out && shapeText(out.shape)].filter(Boolean).join(', ');
}
function tree() {
  const {t} = app, rows = app.once('rows', () => treeRows(t, app.opened)), at = app.row ?? rowOf(t, rows, app.step()?.op);
  const hit = i => {
    const r = rows[i];
    if (!r) return;
    app.row = i;
    if (r.op) return app.go({s: 'f' + r.op.id});
    app.opened.delete(r.key) || app.opened.add(r.key);
    app.cache.delete('rows'), app.render();
  };
  const inner = m => m.path.slice(pathOf(t, m.parent).length).replace(/^\./, '') || 'outermost';
  const titled = ({op, module: m, kids}) => op ? [op.op, `#${op.id}`] : m ? [inner(m), m.type] :
    [`${inner(kids[0].module)} …`, `${kids.length} similar`];
  const draw = i => {
    const r = rows[i], open = r.kids && app.opened.has(r.key), [name, more] = titled(r);
    return h('div', {role: 'treeitem', id: `row${i}`, 'aria-level': r.level, 'aria-posinset': r.at,
        'aria-setsize': r.of, class: 'item',
      'aria-expanded': r.kids ? String(open) : null, 'aria-selected': String(i === at), onclick: () => hit(i)},
      h('span', {style: {paddingLeft: `${Math.min(r.level, 8) * 10}px`}}, r.kids && (open ? '▾ ' : '▸ '), `${name} `,
        h('small', {}, more)));
  };
  const box = longList(rows.length, 24, draw, at, {role: 'tree', label: 'modules and operations',
    'aria-activedescendant': at >= 0 ? `row${at}` : null, onkeydown: e => {
      const r = rows[at], by = {ArrowDown: 1, ArrowUp: -1}[e.key];
      const folds = r?.kids && /^Arrow(Left|Right)$/.test(e.key) && (e.key === 'ArrowRight') !== app.opened.has(r.key);
      if (by) app.row = clamp(at + by, rows.length), app.render();
      else if (e.key === 'Enter' || folds) hit(at);
      else return;
      e.preventDefault(), e.stopPropagation();
    }});
  return [h('h2', {}, plural(t.ops.length, 'operation')), box];
}

function explain() {
  const {t} = app, step = app.step(), op = step?.op;
  if (!op) return [h('h2', {}, 'Explanation'), note('No operation.')];
  const d = t.opdefs[op.op] || {}, user = t.stacks.get(op.stack)?.user, twin = t.twin.get(op.id), {visit} = step;
  const formula = d.lines?.[0].match(/\/\/ ?(.*)/);
  return [h('h2', {}, visit ? `${op.op}, backward` : op.op),
    h('p.sum', {}, `${op.in.filter(id => id != null).map(id => shapeIn(t, id)).join(' , ')} → ${shapeIn(t, op.out)}`),
    [formula?.[1], ...d.derivation || []].filter(Boolean).map(c => c.split(/ *⟵/)).map(([line, why]) =>
      h('p.formula', {}, line, why && h('small', {}, '⟵', why))),
    para(visit ? goTo('f' + op.id, 'forward pass') : twin == null ? 'not reached by backward' :
      goTo(t.steps[twin].key, 'backward pass')),
    visit && visit.gin.map(g => note(`to ${nameOf(t, g.to)}: ${ledgerLine(t, g)}`)),
    gdbLine(op), opSource(t, op, visit), user != null && sourceOf(t, user)].flat(9);
}

function timeline() {
  const {t} = app, at = app.at(), step = app.step(), n = t.steps.length;
  byId('turn').hidden = !n;
  if (!n) return;
  const column = step.op ? step.op.id : step.dir === 'update' ? 0 : t.ops.length - 1;
  const wide = Math.min(t.ops.length, Math.max(3, Math.floor((byId('turn').clientWidth - 100) / 68)));
  const first = windowAt(column, wide, t.ops.length);
  const lane = (name, key) => h('div.lane', {}, h('b', {}, name), range(wide, k => {
    const op = t.ops.get(first + k), i = key(op);
    return i == null ? h('span', {class: 'box none'}, '—') : button(op.op, () => app.go({s: t.steps[i].key}),
      {class: 'box', tabindex: -1, title: t.steps[i].key, 'aria-current': i === at ? 'step' : null});
  }));
  const slider = byId('at');
  slider.max = n - 1, slider.value = at, slider.setAttribute('aria-valuetext', sentence(t, step, at));
  byId('lanes').replaceChildren(lane('forward →', op => t.stepAt.get('f' + op.id)),
    lane('← backward', op => t.twin.get(op.id)));
}

function notices(problem) {
  const {t} = app, f = t.failure, notes = t.meta.notes || [], bad = (...kids) => h('div.bad', {role: 'alert'}, '✗ ', kids);
  byId('notices').append(...[problem && bad(problem),
    f && bad(`${[f.op, 'threw', f.in.length && `on ${f.in.map(id => shapeIn(t, id)).join(' and ')}`,
        f.module != null && `in ${pathOf(t, f.module) || 'the outermost layer'}`].filter(Boolean).join(' ')}: `, f.message,
        details('where', () => (t.stacks.get(f.stack)?.frames || []).slice(0, 6).map(k => sourceOf(t, k)))),
    notes.length && details(`Not recorded (${notes.length})`, () => notes.map(n => para(n)))].filter(Boolean));
}

// ---- keys ----
function twin() {
  const {op, dir} = app.step() || {}, i = op && (dir === 'forward' ? app.t.twin.get(op.id) : app.t.stepAt.get(`f${op.id}`));
  if (i != null) app.go({s: app.t.steps[i].key});
}
function jump(by, wanted) {
  const {steps} = app.t;
  for (let i = app.at() + by; steps[i]; i += by) if (wanted(steps[i])) return app.go({s: steps[i].key});
}
function into(inside) {
  const m = app.step()?.op?.module, p = pathOf(app.t, m);
  jump(1, s => s.op && s.op.module !== m && inside === pathOf(app.t, s.op.module).startsWith(p));
}
const flip = key => app.go({[key]: app.state[key] ? null : 1});
function search(e) {
  const word = e.target.value.toLowerCase(), hits = [], {t} = app;
  for (const s of t.steps) {
    const {op} = s, names = op && [op.op, pathOf(t, op.module), ...op.in.map(id => t.tensor(id)?.name)];
    const text = [s.key, s.dir, names].flat().filter(Boolean).join(' ');
    if (word && text.toLowerCase().includes(word) && hits.push(button(text, () => {
      byId('search').close(), app.go({s: s.key});
    })) > 20) break;
  }
  byId('found').replaceChildren(...hits.map(b => para(b)));
}
const show = id => () => byId(id).showModal();
const isAttention = s => /attention|softmax/.test(s.op?.op);
const kActions = {
  ArrowRight: () => app.by(1), n: () => app.by(1), ArrowLeft: () => app.by(-1), Home: () => app.by(-app.t.steps.length),
  End: () => app.by(app.t.steps.length), b: twin, i: () => into(true), o: () => into(false), '/': show('search'), '?': show('help'),
  t: () => app.go({s: app.t.steps[Math.max(0, app.t.ops.length - 1)]?.key}),
  ']': () => jump(1, isAttention), '[': () => jump(-1, isAttention),
  p: () => flip('quiz'), m: () => flip('plain'),
  c: () => app.step()?.op && copy(gdbCommand(app.t, app.step().op)),
  Escape: () => app.state.cell ? app.go({cell: null}) : byId('stage').focus(),
};
function press(key) {
  const v = kNames[+key - 1], act = v ? () => app.go({v}) : Object.hasOwn(kActions, key) && kActions[key];
  if (act) act();
  return !!act;
}
function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT)$/.test(e.target.tagName) ||
      document.querySelector('dialog[open]')) return;
  if (press(e.key)) e.preventDefault();
}

/** Drawing replaces elements. These functions move the focus to the equivalent new element. */
const meaning = e => e.getAttribute('aria-label') || e.closest('label')?.textContent || e.textContent;
function focusKey() {
  const e = document.activeElement, box = e && e.closest('#stage,#left,#right,#lanes');
  return box && e !== box ? {box, table: e.closest('table')?.dataset.id, text: meaning(e)} : null;
}
function focusAgain(k) {
  if (!k) return;
  const all = [...k.box.querySelectorAll('button,input,select,[tabindex]')];
  const same = k.table ? k.box.querySelector(`table[data-id="${k.table}"] td[tabindex="0"]`) :
      all.find(e => meaning(e) === k.text);
  (same || k.box).focus({preventScroll: !k.table});
}

// ---- self-test ----
async function selftest() {
  const failed = [], {t} = app, {steps} = t, count = {steps: steps.length, failed, cells: 0, unknown: 0};
  const attempt = (what, f) => { try { f(); } catch (e) { failed.push(`${what}: ${e}`); } };
  onerror = message => void failed.push(message);
  for (const [k, v] of Object.keys(kViews).entries()) {  // the first view shows all steps
    const some = steps.filter((_, i) => !k || i % (1 + steps.length / 20 | 0) < 1);
    for (const s of [...some, some[0]]) attempt(`${v} ${s?.key}`, () => app.go({v, s: s?.key}));
    await new Promise(go => setTimeout(go));
  }
  const check = (id, what) => attempt(what, () => {
    const n = values(t.tensor(id))?.length;
    for (const i of new Set(n ? [0, n >> 1, n - 1] : [])) {
      const a = cellArithmetic(t, id, i);
      ++count[a.why ? 'unknown' : 'cells'];
      if (!a.why && !a.agrees) failed.push(`${what} [${i}]: ${a.value}, recorded ${a.recorded}`);
    }
  });
  for (const op of t.ops) check(op.out, `f${op.id} ${op.op}`);
  for (const e of t.ledger) {
    check(e.contribution, `b${e.visit} input ${e.input}`);
    if (entryHolds(t, e) === false) failed.push(`ledger ${e.id}: before + contribution is not after`);
  }
  document.body.append(h('pre', {id: 'selftest'}, JSON.stringify(count)));
}

function start() {
  const script = byId('tape'), text = script.textContent, told = script.dataset.crc32, other = byId('other');
  const wrong = told !== crc32(text) &&
      `This file was modified: the recording does not match its checksum ${told}. `;
  try { app.t = openTape(JSON.parse(text)); } catch (error) {
    app.t = openTape({schema: 'gradus-tape/1'});
    return notices(`${wrong || ''}The recording cannot be read: ${error.message}`);
  }
  if (other) app.other = openTape(JSON.parse(other.textContent)), app.otherName = app.other.meta.title || 'the other trace';
  byId('title').textContent = app.t.meta.title || 'a recorded step';
  for (const m of app.t.modules) if (app.t.modules.length < 40 || m.parent == null) app.opened.add(m.id);
  notices(wrong);
  app.state = read(location.hash, app.t), app.render();
  window.addEventListener('hashchange', () => { app.state = read(location.hash, app.t), app.render(); });
  window.addEventListener('resize', timeline);
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', e => press(e.target.dataset.key));
  byId('at').addEventListener('change', e => app.go({s: app.t.steps[+e.target.value].key}));
  document.querySelector('input[type=search]').addEventListener('input', search);
  if (location.hash === '#selftest') selftest();
}
window.addEventListener('DOMContentLoaded', start);  // the files may be joined in any order
