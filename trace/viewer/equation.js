// The step as an equation: matrices in a row with operators between them, gradients below. Reads
// only the ops of the trace, so it draws any model.

// Bookkeeping: ops that move values without computing. They fold into the label of the result.
const kBookkeeping = /^(reshape|permute|slice|clone|to|expand|transpose|squeeze|unsqueeze)$/;
const isBookkeeping = op => kBookkeeping.test(op.op);
const kKeepsNames = /^(reshape|permute|clone|to|expand|transpose|squeeze|unsqueeze)$/;

/** The ops of the equation: those that compute, and from which backward started. */
function equationOps(t, unfolded) {
  const all = [...t.ops], needed = new Set(), rest = t.walks.length ?
    Array.from(t.walks, w => w.outputs).flat() : all.map(op => op.out);
  while (rest.length) {
    const op = t.producer.get(rest.pop());
    if (op && !needed.has(op)) needed.add(op), rest.push(...op.in);
  }
  const some = unfolded ? all : all.filter(op => needed.has(op) && !isBookkeeping(op));
  return some.length ? some : all;
}

/** Divides the ops into parts that fit a page. */
const kMostOps = 16, kMostGrids = 1200;
function equationParts(t, unfolded) {
  const parts = [];
  let cells = Infinity;
  for (const op of equationOps(t, unfolded)) {
    const cost = [...op.in, op.out].reduce((n, id) => n + 4 + cellsOf(t.tensor(id)), 0);
    if (cells + cost > kMostGrids || parts.at(-1).length >= kMostOps) parts.push([]), cells = 0;
    parts.at(-1).push(op), cells += cost;
  }
  return parts;
}

// ---- names ----
/** Matrices with more cells than this are pictures. */
const kMostShown = 48;
const isSmall = s => s.rows <= 10 && s.cols <= 8 && s.rows * s.cols <= kMostShown;
function cellsOf(tensor) {
  if (!tensor) return 0;
  const rows = tensor.shape.at(-2) ?? 1, cols = tensor.shape.at(-1) ?? 1;
  return isSmall({rows, cols}) ? rows * cols : 0;
}

/** The tensor whose values this one shows, before reshapes and transposes. */
function sameValues(t, id) {
  const seen = new Set();
  for (let op; !seen.has(id); id = op.in[0]) {
    seen.add(id), op = t.producer.get(id);
    if (!op || !kKeepsNames.test(op.op)) break;
  }
  return id;
}
/** The names that a recorded attention gives its tensors: id → name. */
function rolesOf(t) {
  const names = new Map(), set = (id, name) => {
    const base = sameValues(t, id);
    if (id != null && !names.has(base)) names.set(base, name);
  };
  const product = id => {  // the matmul below a scale, a mask or a bias
    let op = t.producer.get(id);
    for (let n = 0; op && op.op !== 'matmul' && n < 20; ++n) op = t.producer.get(op.in[0]);
    return op;
  };
  for (const a of t.attention) {
    const op = t.ops.get(a.op), fused = /attention/.test(op?.op);
    const scores = fused ? op : product(a.scores), [q, k] = scores?.in || [];
    if (k != null) set(q, 'q'), set(k, 'k'), set(fused ? op.in[2] : product(a.out)?.in[1], 'v');
    if (!fused && scores) set(scores.out, 'q kᵀ');
    set(a.scores, 'scores'), set(a.masked, 'masked'), set(a.weights, 'weights'), set(a.out, 'out');
  }
  for (const w of t.walks)
    for (const id of w.outputs) if (t.tensor(id)?.shape.length === 0) set(id, 'loss');
  return names;
}
const kLetters = 'xabcefghijlmnoprstuwz';

/** A short name: the parameter's, the role in attention, a letter for an input or a slice, or y_7
    for the result of op 7. */
function symbolOf(t, id) {
  t.symbols ||= rolesOf(t);
  if (t.symbols.has(id)) return t.symbols.get(id);
  t.symbols.set(id, '?');  // a tensor that is its own view
  const x = t.tensor(id), op = t.producer.get(id);
  let name = x?.name?.split('.').at(-1) || (op && op.op !== 'slice' ? `y_${op.id}` : null);
  if (!name) {
    const n = t.letters = (t.letters ?? -1) + 1;
    name = kLetters[n] ?? `x_${n}`;
  }
  if (op && kKeepsNames.test(op.op) && op.in[0] !== id && !x.name) {
    name = symbolOf(t, op.in[0]);
    if (isTurned(t, op)) name = name.endsWith('ᵀ') ? name.slice(0, -1) : `${name}ᵀ`;
  }
  t.symbols.set(id, name);
  return name;
}
/** True if an op swaps the last two axes. */
function isTurned(t, op) {
  const a = t.tensor(op.in[0])?.shape || [], b = t.tensor(op.out).shape;
  return /permute|transpose/.test(op.op) && a.length > 1 && a.at(-1) === b.at(-2) &&
    a.at(-2) === b.at(-1) && String(a.slice(0, -2)) === String(b.slice(0, -2));
}
const symbol = name => /^[\p{L}_\dᵀ() ]+$/u.test(name) ? math(name) : h('span', {}, name);
/** The symbol of a gradient. */
const gradSymbol = name => symbol(/[ᵀ.]/.test(name) ? `d(${name})` : `d${name}`);

// ---- notation ----
const kSigns = {matmul: '·', add: '+', subtract: '−', multiply: '⊙', divide: '÷', less: '<',
  less_equal: '≤', greater: '>', greater_equal: '≥', equal: '=', not_equal: '≠'};
const kWords = {cross_entropy: 'cross entropy with', index_select: 'rows at', embedding: 'rows at',
  masked_fill: 'masked by', cat: 'joined with', layer_norm: 'layer norm', rms_norm: 'RMS norm',
  negative: '×  −1'};

/** The factor of a scale, or the number of a shift, as a sign. */
function constantSign(t, op) {
  const [x, y] = [op.in[0], op.out].map(id => values(t.tensor(id)));
  const at = x && y ? Math.max(0, x.findIndex(v => v && isFinite(v))) : -1;
  if (at < 0) return op.op === 'scale' ? '× c' : '+ c';
  if (op.op === 'shift') return `${y[at] < x[at] ? '−' : '+'} ${short(Math.abs(y[at] - x[at]), 3)}`;
  const c = y[at] / x[at], width = Math.round(1 / c / c);
  const scores = t.attention.some(a => a.scores === op.out);
  return scores && Math.abs(c * Math.sqrt(width) - 1) < 1e-6 ? `÷ √${width}` : `× ${short(c, 3)}`;
}

/** An op as terms {sign, id, turned, grad}: a sign, then a tensor. The last one is the result. */
function termsOf(t, op) {
  const [a, b, ...more] = op.in, term = (sign, id, other) => ({sign, id, ...other});
  const map = /attention/.test(op.op) && t.attention.find(x => x.op === op.id);
  if (map) {
    const {scores, masked, weights, dscores, dweights} = map, packed = b == null, v = more[0];
    return [term('', a), !packed && term('·', b, {turned: true}),
      term(packed ? 'q · kᵀ ÷ √D →' : '÷ √D =', masked ?? scores, {grad: dscores}),
      term('softmax →', weights, {grad: dweights}), !packed && term('·', v),
      term(packed ? '· v =' : '=', op.out)].filter(x => x && x.id != null);
  }
  if (op.op === 'linear') return [term('', a), term('·', b, {turned: true}),
    more[0] != null && term('+', more[0]), term('=', op.out)].filter(Boolean);
  if (/^(scale|shift)$/.test(op.op)) return [term('', a), term(`${constantSign(t, op)} =`, op.out)];
  const scalar = op.op === 'multiply' && [a, b].some(id => numel(t.tensor(id)?.shape || []) === 1);
  const sign = scalar ? '·' : kSigns[op.op], word = kWords[op.op] || op.op.replace(/_/g, ' ');
  if (b == null) return [term('', a), term(sign ? '=' : `${word} →`, op.out)];
  const others = more.filter(id => id != null).map(id => term(',', id));
  return [term('', a), term(sign || word, b), ...others, term(sign ? '=' : '→', op.out)];
}

/** True if `id` has the values of `shown` in the same places, so it need not be drawn again. */
function continues(t, shown, id) {
  if (shown === id) return true;
  const [x, y] = [shown, id].map(k => t.tensor(k));
  const edge = ({shape}) => String([shape.at(-2) ?? 1, shape.at(-1)]);
  return x && y && sameValues(t, shown) === sameValues(t, id) && edge(x) === edge(y) &&
    numel(x.shape) === numel(y.shape) && symbolOf(t, shown) === symbolOf(t, id);
}

/** Lines of terms: a line continues while each op starts from the result of the one before. */
function linesOf(t, ops) {
  const lines = [];
  let last = null, place = null;
  for (const op of ops) {
    let terms = termsOf(t, op).filter(x => x.id != null);
    if (/^(add|multiply)$/.test(op.op) && last != null && !continues(t, last, op.in[0]) &&
        continues(t, last, op.in[1]))
      terms = [{...terms[0], id: op.in[1]}, {...terms[1], id: op.in[0]}, terms[2]];
    const on = last != null && op.module === place && continues(t, last, terms[0]?.id);
    if (!on) lines.push({module: op.module, terms: []});
    const signed = terms.find(x => x.sign);
    lines.at(-1).terms.push(...terms.slice(on ? 1 : 0).map(x =>
      ({...x, op, named: x === signed, result: x.id === op.out && x.sign !== ''})));
    last = op.out, place = op.module;
  }
  return lines;
}

// ---- elements ----
/** True for a result that predict mode asks for, and all that comes after it. */
function isSecret(id, gradient) {
  const {t, state} = app, step = app.step(), made = t.producer.get(id);
  if (!state.quiz || step?.dir !== 'forward' || app.answers.has(step.key)) return false;
  return gradient || (made ? made.id >= step.op.id : t.tensor(id).kind === 'inside');
}
/** One matrix: its name, then its cells, or a picture if it is large. */
function plate(id, {name, turned, look, gradient}) {
  const {t, state} = app, tensor = t.tensor(id);
  const title = `${gradient ? 'gradient of ' : ''}${name}${turned ? 'ᵀ' : ''}`;
  const shownName = `${name}${turned ? 'ᵀ' : ''}`;
  const face = (gradient ? gradSymbol : symbol)(shownName);
  const caption = h('figcaption', {title: nameOf(t, id)}, face, ' ');
  const box = h('figure', {class: `plate ${look}`}, caption);
  if (!tensor) return box.append(h('span.note', {}, 'not captured')), box;
  if (isSecret(id, gradient)) return box.append(h('div.secret', {}, '?')), box;
  const v = values(tensor), s = {...sliceOf(tensor, state.lead), turned};
  if (turned) [s.rows, s.cols] = [s.cols, s.rows];
  if (!gradient) caption.append(h('small', {}, tensor.shape.length ? `${s.rows}×${s.cols}` : ''));
  if (!v) return box.append(...summary(tensor, title)), box;
  if (isSmall(s) && (state.plain || v.length)) {
    const axes = turned ? [] : [tensor.shape.length - 2, tensor.shape.length - 1];
    const labels = axes.map(axis => labelsFor(t, tensor, axis)), bare = !state.plain && !labels[1];
    box.append(grid(app, id, {title, v, s, labels, shown: [s.rows, s.cols], bare,
      digits: x => Math.abs(x) < 0.1 ? 2 : 3}));
  } else {
    const label = `${title}: ${s.rows} rows, ${s.cols} columns`;
    const canvas = imageOf(v, s, label);
    canvas.addEventListener('click', e => app.cell(id, canvasCell(e, canvas, s)));
    box.append(Object.assign(h('div.pic', {'data-id': id}, canvas), {slice: s}));
  }
  return box;
}
/** A picture of 20 to 140 pixels per side. */
function imageOf(v, s, label) {
  const canvas = pixels(v, s), size = n => `${Math.max(20, Math.min(140, n * 12))}px`;
  Object.assign(canvas.style, {width: size(s.cols), height: size(s.rows)});
  return Object.assign(canvas, {role: 'img', ariaLabel: label});
}
/** The picture of a tensor whose values were not all recorded. */
function summary({block, stats}, title) {
  const p = block?.picture, means = decode(p), s = p && {rows: p.rows, cols: p.columns, first: 0};
  const text = stats ? `mean ${short(stats.mean, 2)} ± ${short(stats.deviation, 2)}` : 'no values';
  return [means && imageOf(means, s, `${title}: means of boxes`), h('small', {}, text)]
    .filter(Boolean);
}

/** A sign and a tensor with its gradient below: a cell of the equation that is not broken. */
function termElement({sign, id, turned, grad, op, named, result}, step) {
  const {t} = app, twin = t.twin.get(op.id), name = symbolOf(t, id), back = t.steps[twin];
  const now = step?.op === op, forward = now && step.dir === 'forward';
  const down = grad ?? gradOf(t, id)?.id;
  const word = sign.replace(/ [→=]$/, ''), end = sign.slice(word.length);
  const link = (text, key, label, on, look) => button(text, () => app.go({s: key}), {label,
    class: `op ${look}`, title: label, 'data-step': key, 'aria-current': on ? 'step' : null});
  const press = named && word && word !== '=' && word !== '→';
  const look = /^\p{L}/u.test(word) ? 'word' : '';
  const face = press ?
    [link(word, `f${op.id}`, `${op.op}, step f${op.id}`, forward, look), end] :
    look ? [h('span.op.word', {}, word), end] : sign;
  const arrow = result && back &&
    link('←', back.key, `backward of ${op.op}, step ${back.key}`, now && !forward, 'back');
  const received = step?.visit?.gin.some(e => e.to === id), lit = on => on ? 'now' : '';
  return h('div.term', {},
    h('div.sign', {}, sign && face), plate(id, {name, turned, look: lit(forward && result)}),
    h('div.sign', {}, arrow), down == null ? h('div', {}) :
      plate(down, {name, turned, gradient: true, look: `grad ${lit(received)}`}));
}

/** Fields that choose the matrix of tensors with more than two axes. */
function leadPickers(t, lines) {
  const most = [];
  for (const {id} of lines.flatMap(l => l.terms)) {
    const before = values(t.tensor(id)) ? t.tensor(id).shape.slice(0, -2).reverse() : [];
    before.forEach((n, k) => { most[k] = Math.max(most[k] ?? 1, n); });
  }
  const heads = t.attention.some(a => t.tensor(a.weights)?.shape.at(-3) === most[0]);
  const names = heads ? ['head', 'example'] : ['example'], at = k => app.state.lead.at(-1 - k) || 0;
  return most.map((n, k) => n > 1 && leadPicker(names[k] || `axis −${k + 3}`, k + 1,
    Math.min(at(k), n - 1), n)).filter(Boolean).reverse();
}

/** The part of the equation that holds the current step. */
function equation() {
  const {t, state} = app, step = app.step(), unfolded = !!state.unfold;
  const parts = app.once(`equation ${unfolded}`, () => equationParts(t, unfolded));
  const at = partOf(parts, step), part = parts[at], lines = linesOf(t, part);
  const folded = t.ops.length - parts.reduce((n, p) => n + p.length, 0);
  const move = (by, text) => parts[at + by] &&
    button(text, () => app.go({s: `f${parts[at + by][0].id}`}));
  const hasGrad = line => line.terms.some(x => x.grad != null || gradOf(t, x.id));
  const fold = unfolded ? 'fold reshapes' : `show ${folded} folded`;
  const heading = ({module}) => h('h2.layer', {}, pathOf(t, module), ' ',
    h('small', {}, t.modules.get(module).type));
  return h('section.equation', {label: 'the step as an equation'},
    h('div.bar', {},
      h('p.hint', {}, 'Point at a value: ', h('b.from', {}, 'what made it'), ', ',
        h('b.to', {}, 'what uses it'), lines.some(hasGrad) && '. d… is a gradient.',
        app.replaced && [' ', h('b.changed', {}, '◥'), ' changed.']),
      legend(), h('span.gap', {}), leadPickers(t, lines),
      (folded > 0 || unfolded) && button(fold, null, {'data-key': 'u', title: 'key u'})),
    parts.length > 1 && h('div.bar', {}, move(-1, '← earlier operations'),
      `part ${at + 1} of ${parts.length}`, move(1, 'later operations →')),
    lines.map((line, k) => [
      line.module !== lines[k - 1]?.module && pathOf(t, line.module) && heading(line),
      h('div', {class: `line ${hasGrad(line) ? '' : 'forward'}`},
        line.terms.map(x => termElement(x, step)))]));
}
function partOf(parts, step) {
  const id = step?.op?.id ?? (step?.dir === 'update' ? Infinity : 0);
  return clamp(parts.findLastIndex(p => p[0].id <= id), parts.length);
}
function legend() {
  const swatch = x => h('i', {style: {backgroundColor: css(colourOf(x, 1))}});
  return h('span.legend', {role: 'img', label: 'colors: blue is negative, orange is positive'},
    '− ', [-1, -0.5, -0.15, 0, 0.15, 0.5, 1].map(swatch), ' +');
}
