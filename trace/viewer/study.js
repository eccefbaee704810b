// Memory layout, graph, source, comparison, and predict mode.

// ---- memory layout ----
const kStrip = 512;
function storageView() {
  const {t, state} = app, op = app.step()?.op;
  const ids = op ? [op.out, ...op.in].filter(id => id != null) : [];
  const x = t.tensor(state.t ?? state.cell?.id ?? ids[0]);
  if (!x) return [note('Choose a step with a tensor.')];
  const rank = x.shape.length, long = x.shape.findIndex((n, a) => n > 1 && a >= +(rank > 2));
  const axis = clamp(state.axis ?? long, rank), strides = x.strides || stridesOf(x.shape);
  const v = values(x), at = memoryOf(x), ghost = reshapeInstead(x), zero = x.offset || 0;
  const moved = Math.max(0, ghost.findIndex((m, i) => m !== at[i]));
  const index = state.cell?.id === x.id ? Math.min(state.cell.i, at.length - 1) : moved;
  const idx = indexOf(index, x.shape), where = new Map(at.map((m, i) => [m, i]));
  const begin = Math.min(...at), end = Math.max(...at) + 1;
  const first = begin + windowAt(at[index] - begin, Math.min(kStrip, end - begin), end - begin);
  const places = range(Math.min(end - first, kStrip), k => first + k);
  const digit = i => i == null || i >= at.length || i < 0 ? '·' :
    rank ? indexOf(i, x.shape)[axis] : 0;
  const look = (m, g) => (g === '·' ? 'other' : `h${g % 4}`) + (m === at[index] ? ' here' : '');
  const strip = (title, item) => {
    const digits = places.map(m => digit(item(m)));
    return [h('h3', {}, title), h('div.strip', {role: 'img',
      label: `${title}: ${digits.slice(0, 32).join(' ')} …`}, places.map((m, k) =>
      h('span', {class: look(m, digits[k]), title: `position ${m}`}, digits[k])))];
  };
  const read = m => `${v && where.has(m) ? short(v[where.get(m)]) : 'the value'} at ${m}`;
  const terms = idx.map((n, a) => ` + ${n}·${strides[a]}`).join('');
  return [pane(`Memory of ${nameOf(t, x.id)} (${shapeText(x.shape)}) in storage ${x.storage}`,
    row(choose('tensor', 't', [...new Set([x.id, ...ids])]
      .map(id => [id, `${nameOf(t, id)}, ${shapeIn(t, id)}`]), x.id),
      choose('digits: index along', 'axis', x.shape.map((n, a) => [a, `axis ${a} (${n})`]), axis)),
    h('p.sum', {}, `[${idx}] is at ${zero}${terms} = ${at[index]}`),
    strip('actual layout', m => where.get(m)),
    ghost[moved] === at[moved] ?
      note('Its values are in row-major order, so a reshape moves nothing.') :
      [strip('if this memory were reshaped instead of transposed', m => m - zero),
       note(`[${idx}] would be ${read(ghost[index])}, not ${read(at[index])}. A reshape keeps the `,
         'memory order, so heads and tokens mix, although all shapes are right.')],
    places.length < end - begin &&
      note(`Positions ${first} to ${first + places.length - 1} of ${begin} to ${end - 1}.`),
    shown(x.id))];
}

// ---- the graph ----
const kMostNodes = 150;
/** Nodes with a depth, and edges: two steps around an op, or the entire graph, grouped by layer if
    it is large. */
function graphOf(t, step, whole) {
  const centre = step?.op || t.ops.get(0), nodes = new Map(), edges = new Set();
  const before = op => op.in.map(id => t.producer.get(id)).filter(Boolean);
  const node = (id, op, depth) => ({id, depth, text: id === op.id ? `${op.op} #${id}` : id,
    step: 'f' + op.id, now: op === centre});
  if (!whole && centre) {
    nodes.set(centre.id, node(centre.id, centre, 0));
    for (const [sign, next] of [[-1, before], [1, o => t.users.get(o.out) || []]])
      for (let ring = [centre], d = 1; d <= 2; ++d) {
        ring = [...new Set(ring.flatMap(next))].filter(o => !nodes.has(o.id)).slice(0, 12);
        ring.forEach(o => nodes.set(o.id, node(o.id, o, sign * d)));
      }
    for (const id of nodes.keys())
      for (const o of before(t.ops.get(id))) if (nodes.has(o.id)) edges.add(`${o.id}>${id}`);
  } else {
    let key = op => op.id;
    for (let depth = 8; new Set(Array.from(t.ops, key)).size > kMostNodes; --depth)
      key = op => pathOf(t, op.module).split('.').slice(0, depth).join('.') || 'outermost';
    for (const op of t.ops) {
      const id = key(op), inner = before(op).map(key).filter(k => k !== id);
      const depth = Math.max(0, ...inner.map(k => (nodes.get(k)?.depth ?? 0) + 1));
      if (!nodes.has(id)) nodes.set(id, node(id, op, depth));
      nodes.get(id).now ||= op === centre;
      for (const k of inner) edges.add(`${k}>${id}`);
    }
  }
  return {nodes: [...nodes.values()], edges: [...edges]};
}
function graphView() {
  const {t, state} = app, whole = !!state.whole, columns = new Map(), place = new Map();
  const g = app.once(`graph ${whole || state.s}`, () => graphOf(t, app.step(), whole));
  const low = Math.min(...g.nodes.map(n => n.depth));
  for (const n of g.nodes) {
    multi(columns, n.depth - low, n);
    place.set(`${n.id}`, [(n.depth - low) * 150, (columns.get(n.depth - low).length - 1) * 44]);
  }
  const width = Math.max(0, ...columns.keys()) * 150 + 150;
  const height = Math.max(0, ...Array.from(columns, c => c[1].length)) * 44;
  const lines = g.edges.map(e => {
    const [[x, y], [u, w]] = e.split('>').map(id => place.get(id)), half = 16;
    const from = `${x + 120} ${y + half}`, to = `${u} ${w + half}`;
    return h('path', {d: `M${from}C${x + 150} ${y + half} ${u - 30} ${w + half} ${to}`});
  });
  const node = n => button(n.text, () => app.go({s: n.step}), {class: 'node', title: n.text,
    'aria-current': n.now && 'true',
    style: {left: `${place.get(`${n.id}`)[0]}px`, top: `${place.get(`${n.id}`)[1]}px`}});
  const all = t.ops.length > kMostNodes ? 'All operations, grouped by layer' : 'All operations';
  const style = {position: 'relative', width: `${width}px`, height: `${height}px`};
  return [pane(whole ? all : 'Around this step',
    button(whole ? 'around this step' : 'entire graph', () => app.go({whole: whole ? null : 1})),
    h('div', {class: 'scroll graph', tabindex: 0, role: 'group', label: 'graph'},
      h('div', {style}, h('svg', {width, height, 'aria-hidden': 'true'}, lines),
        g.nodes.map(node))))];
}

// ---- source ----
function excerpt(title, first, lines, marks) {
  return h('div', {}, h('h3', {}, title), h('pre.code', {tabindex: 0}, lines.map((l, i) =>
    h('span', {class: marks.includes(first + i) && 'mark'},
      `${marks.includes(first + i) ? '▶' : ' '}${first + i}  ${l}`))));
}
function sourceOf(t, frameId) {
  const f = t.frames.get(frameId);
  if (!f) return null;
  const name = (f.function || '').replace(/\(anonymous namespace\)::|gradus::/g, '')
    .replace(/\(.*/, '');
  const title = `${f.file == null ? 'built without -g' : `${t.files[f.file]}:${f.line}`} ${name}`;
  for (const s of t.sources)
    if (s.file === f.file && f.line >= s.first && f.line < s.first + s.lines.length)
      return excerpt(title, s.first, s.lines, [f.line]);
  return h('h3', {}, title);
}
function opSource(t, op, back) {
  const d = t.opdefs[op.op];
  return d && d.lines && d.lines.length ?
    excerpt(`${d.file}: ${op.op}`, d.first, d.lines, [back ? d.backward : d.forward]) : null;
}
function sourceView() {
  const {t} = app, step = app.step(), op = step && step.op, stack = op && t.stacks.get(op.stack);
  if (!op) return [note('The forward pass of this step was not recorded.')];
  const frames = stack ? [stack.user, stack.layer, ...(stack.frames || [])] : [];
  const used = [...new Set(frames)].filter(f => f != null);
  return [pane('Source: your line, the layer, the operation', gdbLine(op),
    used.slice(0, 2).map(f => sourceOf(t, f)), opSource(t, op, step.dir === 'backward'),
    used.length > 2 &&
      details(`all ${used.length} callers`, () => used.slice(2).map(f => sourceOf(t, f))),
    used.length || t.opdefs[op.op] ? null : note('No source was captured.'))];
}
function gdbCommand(t, op) {
  const program = t.meta.program || '', base = program.split('/').pop();
  const ours = /^(\d\d_\w+|gpt|classify|listen|recommend|translate|vision)$/.test(base);
  return `./step.sh ${ours ? base : program} --at ${op.node ?? op.op}`;
}
function gdbLine(op) {
  const text = gdbCommand(app.t, op);
  return para('in gdb: ', h('code', {}, text), ' ', button('copy', () => copy(text),
    {class: 'mini', label: 'copy the gdb command'}));
}
function copy(text) {
  navigator.clipboard?.writeText(text).catch(() => {});
  app.say(`copied: ${text}`);
}

// ---- two recordings ----
function compareView() {
  const open = file => file.text().then(text => app.load(file.name, text))
    .catch(error => app.say(error.message));
  const input = h('input', {type: 'file', accept: '.html,.json',
    onchange: e => e.target.files[0] && open(e.target.files[0])});
  const pick = h('label', {}, 'compare with the trace page ', input);
  if (!app.other) return [pane('Compare with another trace', pick,
    note('Traces are matched by layer and operation.'))];
  const rows = app.once('compare', () => compare(app.t, app.other));
  const differ = [...rows.keys()].filter(i => rows[i].same === false), first = rows[differ[0]];
  const k = app.state.t ?? differ[0] ?? 0, r = rows[k];
  const mark = x => x.same === null ? '? not captured' : x.same ? '= same' : '≠ differs';
  const count = what => rows.filter(x => x.same === what).length;
  const line = i => item(i, k, `${mark(rows[i])}: ${rows[i].step} ${rows[i].what}`);
  const state = {...app.state, cell: null};
  const there = {...app, foreign: true, t: app.other, state, cell() {}, was: () => null};
  return [pane(`This trace and ${app.otherName}`,
    para(h('b', {}, first ? `the first difference is in ${first.step} ${first.what}` :
      'no recorded value differs')),
    note(`${count(true)} same, ${count(false)} differ, ${count(null)} not captured in both. `,
      pick),
    app.list(rows.length, 26, line, k, 'values of both traces'),
    r && [h('p.sum', {}, `${r.what}: ${r.why}`,
      r.most ? `; largest difference ${short(r.most)} ` : ' ', goTo(r.step)),
    row(matrix(app, r.x, {title: 'this', lit: r.at >= 0 ? new Set([r.at]) : null}),
      matrix(there, r.y, {title: app.otherName}))])];
}

// ---- predict mode ----
/** A question about a forward step: {ask, options, answer, because}. */
function question(t, op, n) {
  const out = t.tensor(op.out), shapes = op.in.map(id => shapeIn(t, id)), v = values(out);
  const kind = v?.length > 1 ? (n + op.id) % 3 : 0;
  const signs = ['above 0', 'below 0', '0 or NaN'], zeros = ['none', 'some', 'all'];
  if (kind === 1) return {ask: `What is the sign of the first value of ${op.op}?`, options: signs,
    answer: signs[v[0] > 0 ? 0 : v[0] < 0 ? 1 : 2], because: `it is ${short(v[0])}`};
  const z = v ? v.reduce((k, x) => k + (x === 0), 0) : 0;
  if (kind === 2) return {ask: `How many of the ${v.length} values are exactly 0?`, options: zeros,
    answer: zeros[z === 0 ? 0 : z === v.length ? 2 : 1], because: `${z} of ${v.length} are 0`};
  const answer = shapeText(out.shape);
  const others = [...shapes, shapeText([...out.shape].reverse()), shapeText([...out.shape, 1])];
  return {ask: `${op.op} of (${shapes.join(') and (')}): what is the shape of the result?`, answer,
    because: 'see the matrix', options: [...new Set([answer, ...others])].slice(0, 4).sort()};
}
function quizView(step) {
  const {t} = app, q = question(t, step.op, step.op.id), given = app.answers.get(step.key);
  const answered = [...app.answers.values()], right = answered.filter(a => a.right).length;
  const choice = o => button(o, () => {
    const correct = o === q.answer;
    app.answers.set(step.key, {given: o, right: correct});
    app.say(`${correct ? 'correct' : `wrong: ${q.answer}`}; ${q.because}`), app.render();
  }, {disabled: !!given});
  return [pane('Predict', para(q.ask), row(q.options.map(choice)),
    given && h('p.sum', {}, given.right ? '✓ correct' :
      `✗ you answered ${given.given}; correct is ${q.answer}`, `: ${q.because}.`),
    row([given && button('next step', () => press('n'), {'data-next': ''}),
      button('leave', () => press('p'))].filter(Boolean)),
    note(`${right} of ${answered.length} correct so far. Keys: n next step, p leave.`)),
  equation()];
}
