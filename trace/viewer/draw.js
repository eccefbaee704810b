// Elements, colors, heatmaps with values, images of them, and virtual lists.

/** Creates an element. `tag` may include a class: p.note. In `props`, on… adds a listener, label is
    the ARIA label. */
function h(tag, props, ...kids) {
  const [name, ...looks] = tag.split('.'), look = looks.join(' ') || null;
  const svg = /^(svg|path)$/.test(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) :
    document.createElement(name);
  for (const [k, v] of Object.entries({class: look, ...props})) {
    if (v == null || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'style') Object.assign(e.style, v);
    else e.setAttribute(k === 'label' ? 'aria-label' : k, v === true ? '' : v);
  }
  e.append(...kids.flat(9).filter(x => x != null && x !== false));
  return e;
}
const button = (text, onclick, more) => h('button', {type: 'button', onclick, ...more}, text);
const para = (...kids) => h('p', {}, kids);
const byId = id => app.root.querySelector(`#${id}`);

// ---- colors: blue below 0, orange above; 0 is the color of the paper ----
const kPaints = {
  light: {zero: [252, 252, 252], below: [33, 84, 160], above: [190, 84, 8]},
  dark: {zero: [36, 39, 46], below: [122, 178, 255], above: [255, 168, 84]},
};
const kDark = globalThis.matchMedia?.('(prefers-color-scheme: dark)');

function colourOf(v, scale, dark = kDark?.matches) {
  const {zero, below, above} = dark ? kPaints.dark : kPaints.light;
  if (Number.isNaN(v)) return [150, 0, 110];
  if (v === -Infinity) return zero;
  const share = v === Infinity ? 1 : scale ? Math.sqrt(Math.min(1, Math.abs(v) / scale)) : 0;
  const end = v < 0 ? below : above;
  return end.map((c, k) => Math.round(zero[k] + (c - zero[k]) * share));
}
function luminance(rgb) {
  const [r, g, b] = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
/** Black or white, whichever has more contrast. */
const inkOn = rgb => luminance(rgb) > 0.179 ? '#000' : '#fff';
const css = rgb => `rgb(${rgb})`;

/** The value of the strongest color: the largest, but at most 3 times the root mean square. */
function scaleOf(v) {
  let most = 0, squares = 0, n = 0;
  for (const x of v) {
    if (!Number.isFinite(x)) continue;
    most = Math.max(most, Math.abs(x)), squares += x * x, ++n;
  }
  return n ? Math.min(most, 3 * Math.sqrt(squares / n)) : 0;
}

// ---- a tensor as a matrix of its last two axes; `lead` indexes the axes before them ----
function sliceOf(tensor, lead) {
  const rows = tensor.shape.at(-2) ?? 1, cols = tensor.shape.at(-1) ?? 1;
  const before = tensor.shape.slice(0, -2);
  const at = before.map((n, i) => Math.min(lead[lead.length - before.length + i] || 0, n - 1));
  return {rows, cols, before, at, first: flatOf(at, stridesOf(before)) * rows * cols};
}
const kRows = 16, kCols = 12;

/** Draws a slice on a canvas, one pixel per cell. */
function pixels(v, s) {
  const canvas = h('canvas', {width: s.cols, height: s.rows}), g = canvas.getContext('2d');
  const image = g.createImageData(s.cols, s.rows), scale = scaleOf(v);
  for (let r = 0; r < s.rows; ++r)
    for (let c = 0; c < s.cols; ++c)
      image.data.set([...colourOf(v[flatCell(r, c, s)], scale), 255], 4 * (r * s.cols + c));
  g.putImageData(image, 0, 0);
  return canvas;
}
/** Draws a slice on a canvas: `size` pixels per cell. */
function picture(v, s, size, labels) {
  const head = labels ? 90 : 0, top = labels ? 24 : 0, scale = scaleOf(v);
  const canvas = h('canvas', {width: head + s.cols * size, height: top + s.rows * size});
  const g = canvas.getContext('2d');
  if (labels) {
    g.fillStyle = '#fff';
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.fillStyle = '#000', g.font = '12px sans-serif';
    for (let r = 0; r < s.rows; ++r)
      g.fillText(labels[0][r], 4, top + r * size + size / 2 + 4, head - 8);
    for (let c = 0; c < s.cols; ++c) g.fillText(labels[1][c], head + c * size + 2, 16, size - 4);
  }
  g.font = `${Math.floor(size / 3.6)}px sans-serif`;
  g.textAlign = 'center', g.textBaseline = 'middle';
  for (let r = 0; r < s.rows; ++r) {
    for (let c = 0; c < s.cols; ++c) {
      const x = v[flatCell(r, c, s)];
      const rgb = colourOf(x, scale, labels ? false : undefined);
      g.fillStyle = css(rgb), g.fillRect(head + c * size, top + r * size, size, size);
      if (size < 28) continue;
      g.fillStyle = inkOn(rgb);
      g.fillText(short(x, 3), head + (c + 0.5) * size, top + (r + 0.5) * size, size - 2);
    }
  }
  return canvas;
}
function savePicture(name, v, s, labels) {
  const size = Math.max(2, Math.min(48, Math.floor(6000 / Math.max(s.rows, s.cols))));
  const names = (n, k) => range(n, i => labels[k] ? labels[k][i] : `[${i}]`);
  const all = size < 28 ? null : [s.rows, s.cols].map(names), file = name.replace(/[^\w.-]+/g, '_');
  const a = h('a', {href: picture(v, s, size, all).toDataURL(), download: `${file}.png`});
  a.click();
  return a;
}
const png = (title, ...what) => button('PNG', () => savePicture(title, ...what),
  {class: 'mini', label: `save ${title} as PNG`});

/** An image of at most `most` pixels per side; `label` is the ARIA label. */
function small(v, s, most, label) {
  const size = Math.max(1, Math.min(6, Math.floor(most / Math.max(s.rows, s.cols))));
  return Object.assign(picture(v, s, size), {role: 'img', ariaLabel: label});
}

/** First index of a window of `shown` of n that contains `at`. */
const windowAt = (at, shown, n) => clamp(at - (shown >> 1), n - shown + 1);

/** A tensor: caption, index pickers for the leading axes, values. o: title, note, lit (flat indices
    of which one should be visible). */
function matrix(app, id, o = {}) {
  const {t, state} = app, tensor = t.tensor(id), title = o.title || nameOf(t, id);
  const box = h('figure.matrix', {}), caption = h('figcaption', {}, h('b', {}, title));
  box.append(caption);
  if (!tensor) return caption.append(' was not captured'), box;
  const v = values(tensor), s = sliceOf(tensor, state.lead), rank = tensor.shape.length;
  const labels = [labelsFor(t, tensor, rank - 2), labelsFor(t, tensor, rank - 1)];
  caption.append(` ${shapeText(tensor.shape)} ${tensor.dtype || ''} `, o.note || '', ' ');
  if (!v) return box.append(...sampled(tensor, title)), box;
  caption.append(png(title, v, s, labels));
  if (s.before.some(n => n > 1)) box.append(h('div.lead', {}, s.before.map((n, i) =>
    n > 1 && leadPicker(`axis ${i}`, s.before.length - i, s.at[i], n))));
  const at = state.cell && state.cell.id === id ? matrixCell(state.cell.i, s) : null;
  const lit = o.lit?.size ? matrixCell(Math.min(...o.lit), s) : null, seen = at || lit || [0, 0];
  const shown = [Math.min(s.rows, kRows), Math.min(s.cols, kCols)];
  const r0 = windowAt(seen[0], shown[0], s.rows), c0 = windowAt(seen[1], shown[1], s.cols);
  if (shown[0] < s.rows || shown[1] < s.cols) box.append(overview(app, id, v, s, [r0, c0], shown));
  box.append(h('div.scroll', {}, grid(app, id, {title, v, s, labels, r0, c0, shown})));
  return box;
}
/** Row and column of a flat index in a slice, or null. */
function matrixCell(i, s) {
  const n = i - s.first;
  if (n < 0 || n >= s.rows * s.cols) return null;
  return s.turned ? indexOf(n, [s.cols, s.rows]).reverse() : indexOf(n, [s.rows, s.cols]);
}
/** The flat index of a row and column. */
const flatCell = (r, c, s) => s.first + (s.turned ? c * s.rows + r : r * s.cols + c);
const leadPicker = (name, fromEnd, value, n) => h('label', {}, `${name} `, h('input', {
  type: 'number', min: 0, max: n - 1, value, onchange: e => app.lead(fromEnd, +e.target.value),
}), ` of ${n}`);

function overview(app, id, v, s, [r0, c0], shown) {
  const label = `all ${s.rows} rows and ${s.cols} columns; the frame marks the visible values`;
  const canvas = small(v, s, 240, label), size = canvas.width / s.cols;
  const g = canvas.getContext('2d');
  g.lineWidth = 2, g.strokeStyle = kDark?.matches ? '#fff' : '#000';
  g.strokeRect(c0 * size + 1, r0 * size + 1, shown[1] * size - 2, shown[0] * size - 2);
  canvas.addEventListener('click', e => app.cell(id, canvasCell(e, canvas, s)));
  return h('div', {}, canvas);
}
/** The flat index under the pointer. */
function canvasCell(e, canvas, s) {
  const place = (x, n, wide) => clamp(Math.floor(x * n / wide), n);
  return flatCell(place(e.offsetY, s.rows, canvas.clientHeight),
    place(e.offsetX, s.cols, canvas.clientWidth), s);
}

/** The cells of a slice as a table: one tab stop, in which the arrow keys move. */
function grid(app, id, {title, v, s, labels, r0 = 0, c0 = 0, shown, bare,
    digits = () => 3}) {
  const {state, t} = app, {plain} = state, {shape} = t.tensor(id);
  const scale = scaleOf(v), was = app.was(id);
  const here = state.cell?.id === id ? matrixCell(state.cell.i, s) : null;
  const roles = a => plain ? {} : a, columns = range(shown[1], c => c0 + c);
  const name = (k, i) => labels[k] ? labels[k][i].replace(/\s/g, '␣') || '∅' : i;
  const table = h('table', plain ? {class: 'plain'} : {class: 'heat', role: 'grid',
    'data-id': app.foreign ? null : id,
    label: `${title}, ${s.rows} rows, ${s.cols} columns`, 'aria-rowcount': s.rows + !bare,
    'aria-colcount': s.cols + !bare, onkeydown: e => moveCell(app, id, s, e)});
  if (!bare) table.append(h('tr', roles({role: 'row'}), h('td', roles({role: 'gridcell'})),
    columns.map(c => h('th', {scope: 'col', ...roles({role: 'columnheader'})}, name(1, c)))));
  const cell = (r, c) => {
    const i = flatCell(r, c, s), x = v[i];
    if (plain) return h('td', {}, short(x));
    const rgb = colourOf(x, scale), now = here && here[0] === r && here[1] === c;
    const changed = was && !Object.is(was[i], x), beyond = isFinite(x) && Math.abs(x) > scale;
    const text = short(x, digits(x));
    return h('td', {role: 'gridcell', 'data-i': i, 'aria-colindex': c + 1 + !bare,
      'aria-selected': String(!!now), tabindex: (here ? now : r === r0 && c === c0) ? 0 : -1,
      title: `[${indexOf(i, shape)}] ${short(x, 9)}${changed ? `, was ${short(was[i], 9)}` : ''}`,
      class: [x === -Infinity && 'masked', changed && 'changed', beyond && 'beyond',
        text.length > 6 && 'tight']
        .filter(Boolean).join(' ') || null,
      style: {backgroundColor: x === -Infinity ? '' : css(rgb), color: inkOn(rgb)},
      onclick: () => app.cell(id, i)}, text);
  };
  for (let r = r0; r < r0 + shown[0]; ++r) {
    const head = !bare && h('th', {scope: 'row', ...roles({role: 'rowheader'})}, name(0, r));
    table.append(h('tr', roles({role: 'row', 'aria-rowindex': r + 1 + !bare}), head,
      columns.map(c => cell(r, c))));
  }
  return table;
}

const kMoves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
  PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -1e9], End: [0, 1e9], Enter: [0, 0], ' ': [0, 0]};
function moveCell(app, id, s, e) {
  const cell = e.target.closest('td[data-i]'), by = kMoves[e.key];
  if (!cell || !by || e.ctrlKey || e.metaKey) return;
  e.preventDefault(), e.stopPropagation();
  const [r, c] = matrixCell(+cell.dataset.i, s);
  app.cell(id, flatCell(clamp(r + by[0], s.rows), clamp(c + by[1], s.cols), s));
}

/** The summary of a tensor whose values were not all recorded. */
function sampled(tensor, title) {
  const {picture: p, histogram, corners} = tensor.block || {}, edge = decode(corners);
  const s = p && {rows: p.rows, cols: p.columns, first: 0}, means = decode(p);
  const bar = n => h('i', {title: n, style: {height: `${1 + 99 * n / Math.max(...histogram)}px`}});
  const edges = r => h('tr', {}, range(corners.columns, c =>
    h('td', {}, short(edge[r * corners.columns + c]))));
  const stats = Object.entries(tensor.stats || {}).map(([k, x]) => `${k} ${short(x)}`).join(' · ');
  return [
    row(p && [small(means, s, 256, `picture of ${s.rows} by ${s.cols} means of boxes`),
              png(title, means, s, [])],
      histogram && h('div.hist', {role: 'img', label: `histogram: ${histogram.join(', ')}`},
        histogram.map(bar))),
    corners && h('div.scroll', {tabindex: 0, role: 'group', label: 'corners'}, h('table.plain', {},
      h('caption', {}, 'first and last rows and columns'), range(corners.rows, edges))),
    para('Not all values were captured. ', stats)].filter(Boolean);
}

/** A virtual list of n rows of equal height. draw(i) creates a row; scrolls to `at`. */
function longList(n, height, draw, at, props) {
  const style = {height: `${n * height}px`, position: 'relative'};
  const inner = h('div', {role: 'presentation', style});
  const box = h('div.long', {tabindex: 0, ...props}, inner);
  let first = -1;
  const fill = () => {
    const start = Math.max(0, Math.floor(box.scrollTop / height) - 4);
    if (start === first) return;
    first = start;
    const count = Math.min(n - start, Math.ceil((box.clientHeight || 500) / height) + 8);
    inner.replaceChildren(...range(Math.max(0, count), k => {
      const e = draw(start + k), top = `${(start + k) * height}px`;
      Object.assign(e.style, {position: 'absolute', top, height: `${height}px`});
      return e;
    }));
  };
  box.addEventListener('scroll', fill);
  box.place = () => {  // call after inserting it into the page
    if (at >= 0) box.scrollTop = Math.max(0, at * height - box.clientHeight / 2);
    fill();
  };
  return box;
}
