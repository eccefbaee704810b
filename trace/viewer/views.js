// The views that a learner uses: the step as an equation, gradient sums, attention, layers.

const pane = (title, ...kids) => h('section', {}, h('h2', {}, title), kids);
const row = (...kids) => h('div.row', {}, kids);
const note = (...kids) => h('p.note', {}, kids);
const goTo = (key, text) =>
  button(text || key, () => app.go({s: key}), {class: 'link', 'data-step': key});

/** The index of a cell, without the leading axes of size 1. */
function shownIndex({shape}, i) {
  const first = shape.findIndex((n, k) => n > 1 || k >= shape.length - 2);
  return indexOf(i, shape).slice(first);
}
/** The arithmetic of a cell, compared with the recorded value. */
function arithmetic(cell) {
  const {t} = app, tensor = cell && t.tensor(cell.id), v = values(tensor);
  if (!v) return [h('p.note', {}, 'Point at a value, or select one, to see its arithmetic.')];
  const a = app.arithmetic(cell), x = v[cell.i], was = app.was(cell.id)?.[cell.i];
  const index = shownIndex(tensor, cell.i);
  const entry = t.producer.has(cell.id) ? null : t.origin.get(cell.id);
  const face = entry ? gradSymbol(symbolOf(t, entry.to)) : symbol(symbolOf(t, cell.id));
  const name = h('b', {title: nameOf(t, cell.id)}, face, index.length > 0 && `[${index}]`);
  const where = a.step && a.step !== app.step()?.key &&
    h('span', {}, ' Computed in step ', goTo(a.step), '.');
  const before = was != null && !Object.is(was, x) &&
    h('span.changed', {}, ` It was ${short(was, 6)} before the change.`);
  if (a.why) return [h('p.sum', {}, name, ` = ${short(x, 9)}`),
    h('p.note', {}, `${a.why[0].toUpperCase()}${a.why.slice(1)}.`, before, where)];
  const verdict = a.agrees ? '✓ agrees with the recorded ' : '✗ DIFFERS from the recorded ';
  const by = `: difference ${short(Math.abs(a.value - a.recorded) || 0, 2)}. `;
  return [h('p.sum', {}, name, ` = ${a.e.s()} = `, h('b', {}, short(a.value, 9))),
    h('p.note', {}, verdict, h('b', {}, short(a.recorded, 9)), by, a.note && `(${a.note})`, before,
      where)];
}

/** The values that the selected cell depends on: tensor → flat indices. */
function litCells() {
  const lit = new Map(), {t, state: {cell}} = app;
  for (const [id, i] of cell ? sourcesOf(t, cell.id, cell.i) : []) {
    if (!lit.has(id)) lit.set(id, new Set());
    lit.get(id).add(i);
  }
  return lit;
}
const shown = (id, title, note) => id == null ? null :
  matrix(app, id, {title, note, lit: app.lit().get(id)});

/** A select box: `all` are [value, text]. */
const choose = (label, key, all, now) => h('label', {}, `${label} `,
  h('select', {onchange: e => app.go({[key]: +e.target.value})},
    all.map(([value, text]) => h('option', {value, selected: value === now}, text))));
const details = (title, fill, open) => {
  const filled = e => e.children.length > 1 || e.append(...fill());
  const e = h('details', {open, ontoggle: ({target}) => target.open && filled(target)},
    h('summary', {}, title));
  if (open) filled(e);
  return e;
};

// ---- a step ----
function stepView() {
  const {t, state} = app, step = app.step();
  if (!step) return attentionView();
  if (state.quiz && step.dir === 'forward') return quizView(step);
  const {op} = step, ids = op ? [...op.in, op.out].filter(id => id != null) : [];
  const small = ids.every(id => cellsOf(t.tensor(id)) > 0 && values(t.tensor(id)));
  const title = step.dir === 'update' ? 'The optimizer' : `All values of step ${step.key}`;
  const kids = () => step.dir === 'update' ? updateView() : step.visit ? backwardStep(step) :
    forwardStep(step);
  return [t.ops.length > 0 && equation(),
    details(title, () => kids().flat(9).filter(Boolean), !small || !op || isBookkeeping(op))];
}
function forwardStep({op}) {
  const {t} = app;
  const input = (id, k) => shown(id, `${k ? 'and' : 'from'} ${nameOf(t, id)}`, origin(id));
  return [row(op.in.map(input), shown(op.out, `→ ${nameOf(t, op.out)}`, usersOf(op.out))),
    op.saved?.length && details('saved for backward', () => [row(op.saved.map(id => shown(id)))])];
}
function backwardStep({op, visit}) {
  const {t} = app, kept = op && (op.saved || op.in).filter(id => id !== op.out);
  const part = g => h('div', {}, shown(g.contribution, `→ to ${nameOf(t, g.to)}`), ledgerLine(t, g),
    g.before != null || !isWhole(t, g) ? shown(g.after, 'accumulated gradient') : null);
  return [row(shown(visit.dy, 'dy, the incoming gradient'), visit.gin.map(part)),
    !visit.gin.length && note('No input requires a gradient.'),
    op ? row(kept.map(id => shown(id, `forward: ${nameOf(t, id)}`)), shown(op.out, 'forward: y')) :
      note('The forward pass of this operation was not recorded.')];
}
function origin(id) {
  const made = app.t.producer.get(id);
  return made ? h('span', {}, 'result of ', goTo('f' + made.id)) : app.t.tensor(id)?.kind;
}
function usersOf(id) {
  const users = app.t.users.get(id) || [];
  return h('span', {}, 'used by ', users.slice(0, 4).map(u => [goTo('f' + u.id), ' ']),
    users.length > 4 ? `and ${users.length - 4} more` : users.length ? '' : 'nothing');
}
/** True if a contribution covers the entire input. */
const isWhole = (t, e) =>
  !e.part && String(t.tensor(e.contribution)?.shape) === String(t.tensor(e.to)?.shape);
function ledgerLine(t, e) {
  if (e.hook) return 'changed by a hook';
  const holds = entryHolds(t, e);
  const down = isWhole(t, e) ? '' : e.part ? ` into a part [${e.part}];` :
    ` (${shapeIn(t, e.contribution)}) → (${shapeIn(t, e.to)}), summed over broadcast axes;`;
  const name = e.deposit ? 'added to .grad' : e.seed ? 'initial gradient' :
    `contribution ${e.k} of ${e.of}`;
  return `${name}:${down} ${e.before == null ? '0' : 'before'} + this = after` +
    (holds == null ? '' : holds ? ' ✓ exact' : ' ✗ MISMATCH');
}
function updateView() {
  const {t} = app, u = t.updates.get(app.state.t) || t.updates.get(0);
  const title = `${u.optimiser || 'The optimizer'} updates ${plural(t.updates.length, 'tensor')}`;
  const choice = k => item(k, u.id, t.updates.get(k).name);
  return [pane(`${title}, learning rate ${short(u.rate)}`,
    app.list(t.updates.length, 26, choice, u.id, 'parameters'),
    row(shown(u.before, `${u.name} before`), shown(u.grad, 'gradient'), shown(u.after, 'after')))];
}
const item = (id, chosen, text, props) => h('div', {role: 'option', class: 'item',
  'aria-selected': String(id === chosen), onclick: () => app.go({t: id}), ...props}, text);

// ---- every gradient ----
/** The tensor of which another is a view, if it has a gradient, too. */
function viewed(t, id) {
  const op = t.producer.get(id);
  return op && kKeepsNames.test(op.op) && t.entries.has(op.in[0]) ? viewed(t, op.in[0]) : id;
}
function ledgerView() {
  const {t} = app, step = app.step();
  const isOwn = id => viewed(t, id) === id;
  const targets = app.once('targets', () => [...t.entries.keys()].filter(isOwn));
  if (!targets.length) return [note('No gradient was recorded.')];
  const wanted = viewed(t, app.state.t ?? (step?.visit ? step.visit.gin[0]?.to : step?.op?.out));
  const id = t.entries.has(wanted) ? wanted : targets[0], all = t.entries.get(id);
  const entry = e => h('div.entry', {},
    para(ledgerLine(t, e), ' ', e.visit != null &&
      goTo('b' + e.visit, `b${e.visit} ${t.visits.get(e.visit).name}`)),
    row(shown(e.before, 'before'), shown(e.contribution, '+ contribution'),
      shown(e.after, '= after')));
  const count = k => `${nameOf(t, targets[k])} — ${t.entries.get(targets[k]).length} ×`;
  return [
    pane(`${plural(targets.length, 'tensor')} with a gradient`, app.list(targets.length, 26,
      k => item(targets[k], id, count(k)), targets.indexOf(id), 'tensors')),
    pane(`The gradient of ${nameOf(t, id)}`, all.slice(0, 6).map(entry),
      all.length > 6 && details(`${all.length - 6} more`, () => all.slice(6).map(entry)))];
}

// ---- attention ----
function attentionView() {
  const {t, state} = app, all = t.attention;
  if (!all.length) return [note(t.ops.length ? 'No attention ran.' : 'No operation was recorded.')];
  const step = app.step(), here = step?.op ? all.findIndex(a => a.op === step.op.id) : 0;
  const k = clamp(state.t ?? here, all.length), a = all[k], w = t.tensor(a.weights), v = values(w);
  const s = w && sliceOf(w, state.lead), heads = w ? numel(s.before) : 0;
  const layer = (x, i) => [i, `${pathOf(t, x.module) || 'attention'} #${x.op ?? i}`];
  const thumb = n => {
    const at = indexOf(n, s.before), label = `head ${at}`, first = n * s.rows * s.cols;
    return button(small(v, {...s, first}, 72, label), () => app.go({lead: at}),
      {class: 'thumb', 'aria-pressed': String(String(at) === String(s.at)), label});
  };
  return [pane('Attention: rows = queries, columns = keys',
    row(choose('layer', 't', all.map(layer), k), a.op != null && goTo('f' + a.op, `step f${a.op}`)),
    v && row(range(Math.min(heads, 64), thumb)),
    heads > 64 && note(`${heads - 64} more heads: select them in the fields above each matrix.`),
    row(shown(a.scores, 'scores = q kᵀ · scale'),
      shown(a.masked, 'scores with the mask (hatched: masked)'),
      shown(a.weights, 'weights = softmax, rows sum to 1'), shown(a.out, 'out = weights · v'),
      shown(a.dweights, 'dweights = dout vᵀ'), shown(a.dscores, 'dscores: rows sum to 0')),
    rowSums(t, a))];
}
function rowSums(t, a) {
  const worst = (id, aim) => {
    const x = t.tensor(id), v = values(x), n = x?.shape.at(-1);
    if (!v) return null;
    const sums = range(v.length / n, r =>
      v.subarray(r * n, r * n + n).reduce((p, q) => p + q, -aim));
    return short(sums.reduce((most, x) => Math.max(most, Math.abs(x)), 0), 2);
  };
  const w = worst(a.weights, 1), d = worst(a.dscores, 0);
  return note(w == null ? '' : `Sums of rows: weights 1 ± ${w}`,
    d == null ? '' : `, dscores 0 ± ${d}`);
}

// ---- gradients by layer ----
function flowRows(t) {
  const rows = [], after = new Set(Array.from(t.updates, u => u.after));
  for (const x of t.tensors) {
    if (x.kind !== 'param' && x.kind !== 'leaf') continue;
    const g = gradOf(t, x.id);
    if (!g && (x.kind === 'leaf' || after.has(x.id))) continue;
    rows.push({id: x.id, name: nameOf(t, x.id), grad: g, g: normOf(g), w: normOf(x)});
  }
  return rows;
}
function flowView() {
  const rows = app.once('flow', () => flowRows(app.t));
  const sizes = rows.map(r => r.g).filter(g => g > 0);
  if (!rows.length) return [note('No parameter was recorded.')];
  const low = Math.log10(Math.min(...sizes)) - 0.5, high = Math.log10(Math.max(...sizes));
  const share = g => g > 0 ? Math.max(0.02, (Math.log10(g) - low) / (high - low || 1)) : 0;
  const size = r => !r.grad ? 'no gradient' : Number.isNaN(r.g) ? 'NaN or not captured' :
    r.g === 0 ? 'all 0' : `‖g‖ ${short(r.g, 3)}`;
  const line = r => item(r.id, null, [h('span.name', {}, r.name),
    h('span.bar', {}, h('i', {style: {width: `${100 * share(r.g)}%`}})),
    h('span.size', {}, `${size(r)} · ‖g‖/‖w‖ ${short(r.g / r.w, 2)}`)],
  {class: 'item flow', onclick: () => app.go({v: 'ledger', t: r.id})});
  return [pane('Gradient flow: ‖gradient‖ and ‖gradient‖ / ‖weight‖ (bars: log scale)',
    app.list(rows.length, 30, k => line(rows[k]), 0, 'parameters', 'tall'))];
}
