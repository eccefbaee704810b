// Which cells a cell was computed from, and which it goes to: found by the rules of arithmetic.js,
// through operations that are not on the page, and lit on the page.

/** The recorded cells that a cell was computed from, as [tensor, flat index]. */
function sourcesOf(t, id, i) {
  const a = cellArithmetic(t, id, i);
  return a.parts ?
    [...Array.from(a.parts.values(), p => [a.from[p.k], p.i]), ...a.factors?.() || []] : [];
}

/** The recorded cells computed from a cell: by forward ops, and by backward if it is a gradient. */
function usesOf(t, id, i) {
  const out = [];
  for (const op of new Set(t.users.get(id) || [])) {
    const {map} = pathsOf(t, op);
    op.in.forEach((input, k) => input === id && (map?.get(k * 2 ** 32 + i) || [])
      .forEach(path => out.push([op.out, path.j])));
  }
  if (!t.visitsOf) {
    t.visitsOf = new Map();
    for (const visit of t.visits) multi(t.visitsOf, visit.dy, visit);
  }
  for (const visit of t.visitsOf.get(id) || []) {
    const op = t.ops.get(visit.op), parts = op && forwardCell(t, op, i).parts;
    for (const p of parts?.values() || [])
      for (const e of visit.gin)
        if (e.input === p.k) out.push([gradOf(t, e.to)?.id ?? e.after, p.i]);
  }
  return out;
}

/** The nearest cells whose tensors are `shown`, following `next` through all others. */
const kMostCells = 4000;
function nearest(t, id, i, next, shown) {
  const found = new Map(), seen = new Set(), rest = next(t, id, i);
  while (rest.length && seen.size < kMostCells) {
    const [tensor, at] = rest.pop(), key = `${tensor}.${at}`;
    if (tensor == null || seen.has(key)) continue;
    seen.add(key);
    if (!shown.has(tensor)) rest.push(...next(t, tensor, at));
    else found.set(tensor, (found.get(tensor) || new Set()).add(at));
  }
  return found;
}

// ---- on the page ----
const kMostMarks = 300;  // per picture

/** Lights a cell, its sources and its uses. null: nothing. */
function light(cell) {
  const {t, root} = app, tables = [...root.querySelectorAll('#stage [data-id]')];
  const shown = new Set(tables.map(e => +e.dataset.id));
  const of = next => cell ? nearest(t, cell.id, cell.i, next, shown) : new Map();
  const own = cell ? new Map([[cell.id, new Set([cell.i])]]) : new Map();
  const looks = [['from', of(sourcesOf)], ['to', of(usesOf)], ['here', own]];
  for (const table of tables) {
    const marks = looks.map(([look, cells]) => [look, cells.get(+table.dataset.id)]);
    if (table.slice) lightPicture(table, marks);
    else for (const td of table.querySelectorAll('td[data-i]'))
      for (const [look, cells] of marks) td.classList.toggle(look, !!cells?.has(+td.dataset.i));
  }
}
function lightPicture(box, marks) {
  const {slice: s} = box, share = (n, all) => `${100 * n / all}%`;
  box.querySelectorAll('i').forEach(e => e.remove());
  for (const [look, cells] of marks) for (const i of [...cells || []].slice(0, kMostMarks)) {
    const at = matrixCell(i, s);
    if (at) box.append(h('i', {class: look, style: {
      top: share(at[0], s.rows), left: share(at[1], s.cols),
      width: share(1, s.cols), height: share(1, s.rows),
    }}));
  }
}

/** Lights the cell under the pointer or the focus, and shows its arithmetic. */
function onPoint(e) {
  const box = e.target.closest?.('[data-id]'), td = e.target.closest?.('td[data-i]');
  const picture = box?.slice && e.target.tagName === 'CANVAS' ? e.target : null;
  const i = td ? +td.dataset.i : picture ? canvasCell(e, picture, box.slice) : null;
  const cell = i == null ? null : {id: +box.dataset.id, i};
  const now = cell ? `${cell.id}.${cell.i}` : null, {cell: chosen} = app.state;
  const focus = e.type === 'focusin', same = chosen && now === `${chosen.id}.${chosen.i}`;
  if (now === app.pointed || focus && (!cell || same)) return;
  app.pointed = now;
  const show = () => {
    byId('stage').classList.toggle('pointing', !!cell && !focus);
    light(cell || app.state.cell);
    byId('sum').replaceChildren(...arithmetic(cell || app.state.cell));
  };
  clearTimeout(app.pointing);
  if (picture) app.pointing = setTimeout(show, 120);  // large ops take a while: wait for a rest
  else show();
}
