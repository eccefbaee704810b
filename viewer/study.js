// Storage, graph, source, comparison, and the questions of predict mode.
'use strict';

// ---- which memory ----
const kPatterns = ['h0', 'h1', 'h2', 'h3'];
function storageView(app) {
  const {t, state} = app, step = app.step(), ids = step && step.op ? [step.op.out, ...step.op.in].filter(id => id != null) : [];
  const chosen = t.tensors.get(state.t ?? (state.cell ? state.cell.id : ids[0]));
  if (!chosen) return [note('Choose a step with a tensor.')];
  const rank = chosen.shape.length, axis = Math.min(state.axis ?? Math.max(0, rank - 3), Math.max(0, rank - 1));
  const strides = chosen.strides || stridesOf(chosen.shape), at = memoryOf(chosen), ghost = reshapeInstead(chosen), v = values(chosen);
  const group = i => rank ? indexOf(i, chosen.shape)[axis] : 0, index = state.cell && state.cell.id === chosen.id ? state.cell.i : 0;
  const where = new Map(at.map((m, i) => [m, i])), start = Math.min(...at), end = Math.max(...at) + 1;
  const most = 512, first = windowAt(at[index] - start, most, end - start) + start, last = Math.min(end, first + most);
  const strip = (title, memory) => h('div', {}, h('h3', {}, title), h('div', {class: 'strip', role: 'img', 'aria-label':
    `${title}: ${Array.from({length: Math.min(32, last - first)}, (_, k) => memory(first + k) ?? 'other').join(' ')} …`},
    Array.from({length: last - first}, (_, k) => {
      const g = memory(first + k);
      return h('span', {class: g == null ? 'other' : kPatterns[g % 4] + (first + k === at[index] ? ' here' : ''),
                        title: `memory ${first + k}`}, g == null ? '·' : g);
    })));
  const idx = indexOf(index, chosen.shape), swapped = ghost.some((m, i) => m !== at[i]);
  const read = m => { const i = where.get(m); return i == null || !v ? 'a number of another tensor' : short(v[i]); };
  return [pane(`Where ${nameOf(t, chosen.id)} (${shapeText(chosen.shape)}) lies in storage ${chosen.storage}`,
    row(h('label', {}, 'tensor ', h('select', {onchange: e => app.go({t: +e.target.value, cell: null})}, [...new Set([chosen.id, ...ids])]
      .map(id => h('option', {value: id, selected: id === chosen.id}, nameOf(t, id))))),
      h('label', {}, 'digits show the index of ', h('select', {onchange: e => app.go({axis: +e.target.value})},
        chosen.shape.map((n, a) => h('option', {value: a, selected: a === axis}, `axis ${a} (${n})`))))),
    h('p', {class: 'sum'}, `[${idx}] lies at ${chosen.offset || 0}${idx.map((n, a) => ` + ${n}·${strides[a]}`).join('')} = ${at[index]}`),
    strip('as it is', m => where.has(m) ? group(where.get(m)) : null),
    swapped ? [strip('if the same memory were reshaped instead of transposed', m => m - (chosen.offset || 0) < at.length &&
      m >= (chosen.offset || 0) ? group(m - (chosen.offset || 0)) : null),
      note(`A reshape keeps the order of memory. [${idx}] would be the number at ${ghost[index]} (${read(ghost[index])}) and not the one ` +
           `at ${at[index]} (${read(at[index])}): numbers of different heads or tokens mix, and no shape is wrong.`)] :
      note('Its numbers lie in the order of its index, so a reshape moves nothing.'),
    numel(chosen.shape) > 4096 || end - start > most ? note(`Places ${first} to ${last - 1} of ${start} to ${end - 1} are drawn.`) : null,
    shown(app, chosen.id))];
}

// ---- the graph ----
const kMostNodes = 150;
/** Nodes with depth, and edges: all operations where they are few, else around the step, or modules. */
function graphOf(t, step, whole) {
  const centre = step && step.op ? step.op : t.ops.get(0), nodes = new Map(), edges = new Set();
  const before = op => op.in.map(id => t.producer.get(id)).filter(Boolean);
  if (!whole) {
    let ring = centre ? [centre] : [];
    const hop = (next, sign) => {
      let at = ring;
      for (let d = 1; d <= 2; ++d) {
        at = [...new Set(at.flatMap(next))].filter(o => !nodes.has(o.id)).slice(0, 12);
        at.forEach(o => nodes.set(o.id, {id: o.id, text: `${o.op} #${o.id}`, depth: sign * d, step: 'f' + o.id}));
      }
    };
    ring.forEach(o => nodes.set(o.id, {id: o.id, text: `${o.op} #${o.id}`, depth: 0, step: 'f' + o.id, now: true}));
    hop(before, -1), hop(o => t.users.get(o.out) || [], 1);
    for (const id of nodes.keys()) for (const o of before(t.ops.get(id))) if (nodes.has(o.id)) edges.add(`${o.id}>${id}`);
    return {nodes: [...nodes.values()], edges: [...edges]};
  }
  const keyAt = depth => op => pathOf(t, op.module).split('.').slice(0, depth).join('.') || 'outermost';
  let key = op => op.id, depth = 8;
  if (t.ops.length > kMostNodes)
    for (key = keyAt(depth); depth > 0 && new Set(function* () { for (const o of t.ops) yield key(o); }()).size > kMostNodes;)
      key = keyAt(--depth);
  for (const op of t.ops) {
    const id = key(op), old = nodes.get(id);
    const deep = Math.max(0, ...before(op).filter(o => key(o) !== id).map(o => (nodes.get(key(o))?.depth ?? 0) + 1));
    if (!old) nodes.set(id, {id, text: id === op.id ? `${op.op} #${op.id}` : `${id}`, depth: deep, step: 'f' + op.id, now: op === centre});
    else if (op === centre) old.now = true;
    for (const o of before(op)) if (key(o) !== id) edges.add(`${key(o)}>${id}`);
  }
  return {nodes: [...nodes.values()], edges: [...edges]};
}
function graphView(app) {
  const whole = !!app.state.whole, g = app.once(`graph ${whole ? 'all' : app.state.s}`, () => graphOf(app.t, app.step(), whole));
  if (!g.nodes.length) return [note('No operation was recorded.')];
  const columns = new Map(), place = new Map(), W = 150, H = 44, low = Math.min(...g.nodes.map(n => n.depth));
  for (const n of g.nodes) {
    multi(columns, n.depth - low, n);
    place.set(String(n.id), [(n.depth - low) * W, (columns.get(n.depth - low).length - 1) * H]);
  }
  const wide = (Math.max(...columns.keys()) + 1) * W, high = Math.max(...[...columns.values()].map(c => c.length)) * H;
  const line = e => {
    const [[x, y], [u, w]] = e.split('>').map(id => place.get(id));
    return h('path', {d: `M${x + 120} ${y + 16}C${x + 150} ${y + 16} ${u - 30} ${w + 16} ${u} ${w + 16}`});
  };
  return [pane(whole ? (app.t.ops.length > kMostNodes ? `${plural(app.t.ops.length, 'operation')}, drawn as layers` : 'every operation')
    : 'two steps around this operation', button(whole ? 'around this step' : 'the whole graph', () => app.go({whole: whole ? null : 1})),
    h('div', {class: 'scroll graph', tabindex: 0, role: 'group', 'aria-label': 'graph'},
      h('div', {style: {position: 'relative', width: `${wide}px`, height: `${high}px`}},
        h('svg', {width: wide, height: high, 'aria-hidden': 'true'}, g.edges.map(line)),
        g.nodes.map(n => { const [x, y] = place.get(String(n.id)); return button(n.text, () => app.go({s: n.step}),
          {class: 'node', 'aria-current': n.now ? 'true' : null, title: n.text, style: {left: `${x}px`, top: `${y}px`}}); }))))];
}

// ---- source ----
function excerpt(title, first, lines, marks) {
  return h('div', {}, h('h3', {}, title), h('pre', {class: 'code', tabindex: 0}, lines.map((l, i) =>
    h('span', {class: marks.includes(first + i) ? 'mark' : null}, `${marks.includes(first + i) ? '▶' : ' '}${first + i}  ${l}\n`))));
}
function sourceOf(t, frameId) {
  const f = t.frames.get(frameId);
  if (!f) return null;
  const title = `${f.file == null ? 'built without -g' : `${t.files[f.file]}:${f.line}`} ${f.function || ''}`;
  for (const s of t.sources) if (s.file === f.file && f.line >= s.first && f.line < s.first + s.lines.length)
    return excerpt(title, s.first, s.lines, [f.line]);
  return h('h3', {}, title);
}
function opSource(t, op, back) {
  const d = t.opdefs[op.op];
  return d && d.lines && d.lines.length ?
    excerpt(`${d.file}: ${op.op}`, d.first, d.lines, [back ? d.backward : d.forward]) : null;
}
function sourceView(app) {
  const {t} = app, step = app.step(), op = step && step.op, stack = op && t.stacks.get(op.stack);
  if (!op) return [note('This step has no operation that was seen forward.')];
  const used = stack ? [...new Set([stack.user, stack.layer, ...(stack.frames || [])])].filter(f => f != null) : [];
  return [pane('Your line, the layer’s, the operation’s', gdbLine(app, op),
    used.slice(0, 2).map(f => sourceOf(t, f)), opSource(t, op, step.dir === 'backward'),
    used.length > 2 ? details(`all ${used.length} callers`, () => used.slice(2).map(f => sourceOf(t, f))) : null,
    used.length || t.opdefs[op.op] ? null : note('No source was captured.'))];
}
function gdbCommand(t, op) {
  const program = t.meta.program || '', base = program.split('/').pop();
  const name = /^(\d\d_\w+|gpt|classify|listen|recommend|translate|vision)$/.test(base) ? base : program;
  return `./step.sh ${name} --at ${op.node ?? op.op}`;
}
function gdbLine(app, op) {
  const text = gdbCommand(app.t, op);
  return h('p', {}, 'the same in gdb: ', h('code', {}, text), ' ', button('copy', () => copy(app, text), {class: 'mini', 'aria-label': 'copy the gdb command'}));
}
function copy(app, text) {
  const done = () => app.say(`copied: ${text}`);
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => app.say(text));
  else app.say(text);
}

// ---- two recordings ----
function compareView(app) {
  const input = h('input', {type: 'file', accept: '.html,.json', onchange: e => {
    const file = e.target.files[0];
    if (file) file.text().then(text => app.load(file.name, text)).catch(error => app.say(error.message));
  }});
  const pick = h('label', {}, 'compare with the page ', input);
  if (!app.other) return [pane('Compare with another trace', pick, note('Both are matched by layer, operation and how often it ran. ' +
    'What differs first is where to look: with and without a mask, cached and not, yours and a reference.'))];
  const rows = app.once('compare', () => compare(app.t, app.other)), differ = rows.map((r, i) => r.same === false ? i : -1).filter(i => i >= 0);
  const k = app.state.t ?? differ[0] ?? 0, r = rows[k];
  const mark = x => x.same === null ? '? not captured' : x.same ? '= same' : '≠ differs';
  return [pane(`This and ${app.otherName}: ${differ.length ? `the first number that differs is in ${rows[differ[0]].step} ${rows[differ[0]].what}`
    : 'no recorded number differs'}`, note(`${rows.filter(x => x.same).length} same, ${differ.length} differ, ` +
      `${rows.filter(x => x.same === null).length} not captured in both. `, pick),
    app.list(rows.length, 26, i => item(app, i, k, `${mark(rows[i])}: ${rows[i].step} ${rows[i].what}`), k, 'numbers of both'),
    r ? [h('p', {class: 'sum'}, `${r.what}: ${r.why}${r.most ? `; largest difference ${short(r.most)}` : ''} `, goTo(app, r.step)),
         row(matrix(app, r.x, {title: 'this', lit: r.at >= 0 ? new Set([r.at]) : null}),
             matrix({...app, t: app.other, state: {...app.state, cell: null}}, r.y, {title: app.otherName}))] : null)];
}

// ---- predict, then look ----
/** A question about a forward step: {ask, options, answer, because}; the answer is in the recording. */
function question(t, op, n) {
  const out = t.tensors.get(op.out), shapes = op.in.map(id => (t.tensors.get(id) || {shape: []}).shape), v = values(out);
  const kinds = ['shape'];
  if (v && v.length) kinds.push('sign');
  if (v && v.length > 1) kinds.push('zeros');
  if (op.op === 'softmax' || kReduce[op.op]) kinds.push('axis');
  const kind = kinds[(n + op.id) % kinds.length], shape = shapeText(out.shape);
  const r = kind === 'axis' && readingOf(t, op);
  if (r && r.way && r.way.note)
    return choice(`${op.op} of (${shapeText(shapes[0])}) gives (${shape}): where does it add up?`, r.way.note,
      shapes[0].map((_, a) => r.way.note.replace(/[\d,]+/, a)), 'the numbers bear out this axis');
  if (kind === 'sign') return choice(`What is the sign of the first number of ${op.op}?`, v[0] > 0 ? 'above 0' : v[0] < 0 ? 'below 0' : '0 or NaN',
    ['above 0', 'below 0', '0 or NaN'], `it is ${short(v[0])}`);
  if (kind === 'zeros') {
    const z = v.reduce((k, x) => k + (x === 0), 0);
    return choice(`How many of the ${v.length} numbers become exactly 0?`, z === 0 ? 'none' : z === v.length ? 'all' : 'some',
      ['none', 'some', 'all'], `${z} of ${v.length}`);
  }
  return choice(`${op.op} of ${shapes.map(s => `(${shapeText(s)})`).join(' and ')}: which shape comes out?`, shape,
    [shapeText([...out.shape].reverse()), ...shapes.map(shapeText), shapeText([...out.shape, 1]), 'one number'], 'see the matrix');
}
function choice(ask, answer, others, because) {
  const options = [...new Set([answer, ...others])].slice(0, 4).sort();
  return {ask, answer, options, because};
}
function quizView(app, step) {
  const {t} = app, q = question(t, step.op, step.op.id), given = app.answers.get(step.key);
  const answered = [...app.answers.values()], right = answered.filter(a => a.right).length;
  return [pane('Predict', h('p', {}, q.ask), row(q.options.map(o => button(o, () => {
    app.answers.set(step.key, {given: o, right: o === q.answer});
    app.say(`${o === q.answer ? 'right' : `no: ${q.answer}`}; ${q.because}`), app.render();
  }, {disabled: given ? true : null}))),
    given ? h('p', {class: 'sum'}, `${given.right ? '✓ right' : `✗ you said ${given.given}; it is ${q.answer}`}: ${q.because}.`) : null,
    note(`${right} of ${answered.length} right so far. p ends predict mode.`)),
    row(step.op.in.map(id => shown(app, id)), given ? shown(app, step.op.out, `→ ${nameOf(t, step.op.out)}`) : null)];
}
