// Elements, heatmaps with values, images of them, and virtual lists.

/** Creates an element. `tag` may include a class: p.note. In `props`, on… adds a listener; label is the ARIA label. */
function h(tag, props, ...kids) {
  const [name, look] = tag.split('.'), svg = /^(svg|path)$/.test(name);
  const e = svg ? document.createElementNS('http://www.w3.org/2000/svg', name) : document.createElement(name);
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
const byId = id => document.getElementById(id);

// ---- colors: blue below 0, orange above, white at 0; black or white text, whichever has more contrast ----
function colourOf(v, scale) {
  if (Number.isNaN(v)) return [0, 0, 0];
  if (!Number.isFinite(v)) return v > 0 ? [127, 59, 8] : [225, 225, 225];
  const s = scale ? Math.min(1, Math.abs(v) / scale) : 0, end = v < 0 ? [33, 84, 160] : [190, 84, 8];
  return end.map(c => Math.round(252 + (c - 252) * Math.sqrt(s)));
}
function luminance(rgb) {
  const [r, g, b] = rgb.map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const inkOn = rgb => luminance(rgb) > 0.179 ? '#000' : '#fff';
const css = rgb => `rgb(${rgb})`;

/** The value of the strongest color: the largest value, but at most 3 times the root mean square. */
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
  const rows = tensor.shape.at(-2) ?? 1, cols = tensor.shape.at(-1) ?? 1, before = tensor.shape.slice(0, -2);
  const at = before.map((n, i) => Math.min(lead[lead.length - before.length + i] || 0, n - 1));
  return {rows, cols, before, at, first: flatOf(at, stridesOf(before)) * rows * cols};
}
const kRows = 16, kCols = 12;

/** Draws a slice on a canvas: `size` pixels per cell. */
function picture(v, s, size, labels) {
  const head = labels ? 90 : 0, top = labels ? 24 : 0, scale = scaleOf(v);
  const canvas = h('canvas', {width: head + s.cols * size, height: top + s.rows * size}), g = canvas.getContext('2d');
  if (labels) {
    g.fillStyle = '#fff', g.fillRect(0, 0, canvas.width, canvas.height), g.fillStyle = '#000', g.font = '12px sans-serif';
    for (let r = 0; r < s.rows; ++r) g.fillText(labels[0][r], 4, top + r * size + size / 2 + 4, head - 8);
    for (let c = 0; c < s.cols; ++c) g.fillText(labels[1][c], head + c * size + 2, 16, size - 4);
  }
  g.font = `${Math.floor(size / 3.6)}px sans-serif`, g.textAlign = 'center', g.textBaseline = 'middle';
  for (let r = 0; r < s.rows; ++r) {
    for (let c = 0; c < s.cols; ++c) {
      const x = v[s.first + r * s.cols + c], rgb = colourOf(x, scale);
      g.fillStyle = css(rgb), g.fillRect(head + c * size, top + r * size, size, size);
      if (size < 28) continue;
      g.fillStyle = inkOn(rgb), g.fillText(short(x, 3), head + (c + 0.5) * size, top + (r + 0.5) * size, size - 2);
    }
  }
  return canvas;
}
function savePicture(name, v, s, labels) {
  const size = Math.max(2, Math.min(48, Math.floor(6000 / Math.max(s.rows, s.cols))));
  const all = size < 28 ? null : [s.rows, s.cols].map((n, k) => range(n, i => labels[k] ? labels[k][i] : `[${i}]`));
  const a = h('a', {href: picture(v, s, size, all).toDataURL(), download: `${name.replace(/[^\w.-]+/g, '_')}.png`});
  a.click();
  return a;
}

const png = (title, ...what) => button('PNG', () => savePicture(title, ...what),
  {class: 'mini', label: `save ${title} as PNG`});

/** An image of at most `most` pixels per side; `label` is the ARIA label. */
function small(v, s, most, label) {
  const canvas = picture(v, s, Math.max(1, Math.min(6, Math.floor(most / Math.max(s.rows, s.cols)))));
  return Object.assign(canvas, {role: 'img', ariaLabel: label});
}

/** First index of a window of `shown` of n that contains `at`. */
const windowAt = (at, shown, n) => clamp(at - (shown >> 1), n - shown + 1);

/** A tensor: caption, index pickers for the leading axes, values. o: title, note, lit (flat indices to highlight). */
function matrix(app, id, o = {}) {
  const {t, state} = app, tensor = t.tensor(id), title = o.title || nameOf(t, id);
  if (!tensor) return h('figure.matrix', {}, h('figcaption', {}, h('b', {}, title), ' was not captured'));
  const v = values(tensor), s = sliceOf(tensor, state.lead), box = h('figure.matrix', {});
  const labels = [labelsFor(t, tensor, tensor.shape.length - 2), labelsFor(t, tensor, tensor.shape.length - 1)];
  box.append(h('figcaption', {}, h('b', {}, title), ` ${shapeText(tensor.shape)} ${tensor.dtype || ''} `, o.note, ' ',
    v ? png(title, v, s, labels) : null));
  if (v && s.before.some(n => n > 1)) box.append(h('div.lead', {}, s.before.map((n, i) => n > 1 && h('label', {},
    `axis ${i} `, h('input', {type: 'number', min: 0, max: n - 1, value: s.at[i],
                              onchange: e => app.lead(s.before.length - i, +e.target.value)}), ` of ${n}`))));
  if (!v) return box.append(...sampled(tensor, title)), box;
  const at = state.cell && state.cell.id === id ? indexOf(state.cell.i - s.first, [s.rows, s.cols]) : null;
  const here = at && at[0] >= 0 && at[0] < s.rows ? at : null;
  const shown = [Math.min(s.rows, kRows), Math.min(s.cols, kCols)], lit = (o.lit ? Math.min(...o.lit) : -1) - s.first;
  const seen = here || (lit >= 0 && lit < s.rows * s.cols ? indexOf(lit, [s.rows, s.cols]) : [0, 0]);
  const r0 = windowAt(seen[0], shown[0], s.rows), c0 = windowAt(seen[1], shown[1], s.cols);
  if (shown[0] < s.rows || shown[1] < s.cols) box.append(overview(app, id, v, s, [r0, c0], shown));
  box.append(h('div.scroll', {}, grid(app, id, {title, v, s, labels, r0, c0, shown, here, lit: o.lit})));
  return box;
}

function overview(app, id, v, s, [r0, c0], shown) {
  const canvas = small(v, s, 240, `all ${s.rows} rows and ${s.cols} columns; the frame marks the visible values`);
  const size = canvas.width / s.cols, g = canvas.getContext('2d');
  g.lineWidth = 2, g.strokeRect(c0 * size + 1, r0 * size + 1, shown[1] * size - 2, shown[0] * size - 2);
  canvas.addEventListener('click', e => {
    const cell = (x, n) => clamp(Math.floor(x * canvas.width / canvas.clientWidth / size), n);
    app.cell(id, s.first + cell(e.offsetY, s.rows) * s.cols + cell(e.offsetX, s.cols));
  });
  return h('div', {}, canvas);
}

function grid(app, id, {title, v, s, labels, r0, c0, shown, here, lit}) {
  const plain = app.state.plain, scale = scaleOf(v), table = h('table', plain ? {class: 'plain'} : {
    role: 'grid', label: `${title}, ${s.rows} rows, ${s.cols} columns`, 'aria-rowcount': s.rows + 1,
    'aria-colcount': s.cols + 1, class: 'heat', 'data-id': id, onkeydown: e => moveCell(app, id, s, e)});
  const columns = range(shown[1], c => c0 + c), roles = a => plain ? {} : a;
  const name = (k, i) => labels[k] ? labels[k][i].replace(/\s/g, '␣') || '∅' : i;
  table.append(h('tr', roles({role: 'row'}), h('td', roles({role: 'gridcell'})),
                 columns.map(c => h('th', {scope: 'col', ...roles({role: 'columnheader'})}, name(1, c)))));
  for (let r = r0; r < r0 + shown[0]; ++r) {
    table.append(h('tr', roles({role: 'row', 'aria-rowindex': r + 2}),
                   h('th', {scope: 'row', ...roles({role: 'rowheader'})}, name(0, r)), columns.map(c => {
      const i = s.first + r * s.cols + c, x = v[i];
      if (plain) return h('td', {}, short(x));
      const rgb = colourOf(x, scale), now = here && here[0] === r && here[1] === c;
      return h('td', {role: 'gridcell', 'data-i': i, 'aria-colindex': c + 2, 'aria-selected': String(!!now),
        tabindex: (here ? now : r === r0 && c === c0) ? 0 : -1,
        title: `[${indexOf(i, app.t.tensor(id).shape)}] ${short(x, 9)}`,
        class: [x === -Infinity && 'masked', lit?.has(i) && 'lit', now && 'here',
          isFinite(x) && Math.abs(x) > scale && 'beyond'].filter(Boolean).join(' ') || null,
        style: {background: x === -Infinity ? '' : css(rgb), color: inkOn(rgb)}, onclick: () => app.cell(id, i)}, short(x, 3));
    })));
  }
  return table;
}

function moveCell(app, id, s, e) {
  const cell = e.target.closest('td[data-i]');
  const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0],
              PageDown: [10, 0], Home: [0, -s.cols], End: [0, s.cols], Enter: [0, 0], ' ': [0, 0]}[e.key];
  if (!cell || !by || e.ctrlKey || e.metaKey) return;
  e.preventDefault(), e.stopPropagation();
  const [r, c] = indexOf(cell.dataset.i - s.first, [s.rows, s.cols]);
  app.cell(id, s.first + clamp(r + by[0], s.rows) * s.cols + clamp(c + by[1], s.cols));
}

/** The summary of a tensor whose values were not all recorded. */
function sampled(tensor, title) {
  const {picture: p, histogram, corners} = tensor.block || {}, s = p && {rows: p.rows, cols: p.columns, first: 0};
  const means = decode(p), edge = decode(corners);
  return [
    row(p && [small(means, s, 256, `picture of ${s.rows} by ${s.cols} means of boxes`), png(title, means, s, [])],
      histogram && h('div.hist', {role: 'img', label: `histogram: ${histogram.join(', ')}`}, histogram.map(n =>
        h('i', {title: n, style: {height: `${1 + 99 * n / Math.max(...histogram)}px`}})))),
    corners && h('div.scroll', {tabindex: 0, role: 'group', label: 'corners'},
      h('table.plain', {}, h('caption', {}, 'first and last rows and columns'), range(corners.rows, r =>
        h('tr', {}, range(corners.columns, c => h('td', {}, short(edge[r * corners.columns + c]))))))),
    para('Not all values were captured. ',
      Object.entries(tensor.stats || {}).map(([k, x]) => `${k} ${short(x)}`).join(' · '))].filter(Boolean);
}

/** A virtual list of n rows of equal height. draw(i) creates a row; scrolls to `at`. */
function longList(n, height, draw, at, props) {
  const inner = h('div', {role: 'presentation', style: {height: `${n * height}px`, position: 'relative'}});
  const box = h('div.long', {tabindex: 0, ...props}, inner);
  let first = -1;
  const fill = () => {
    const start = Math.max(0, Math.floor(box.scrollTop / height) - 4);
    if (start === first) return;
    first = start;
    const count = Math.min(n - start, Math.ceil((box.clientHeight || 500) / height) + 8);
    inner.replaceChildren(...range(Math.max(0, count), k => {
      const e = draw(start + k);
      Object.assign(e.style, {position: 'absolute', top: `${(start + k) * height}px`, height: `${height}px`});
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
