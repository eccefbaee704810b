// A model in training: run, pause, step, rewind; the loss curve and what the model has learned.

const training = {
  losses: [], running: false, drawn: 0, ended: null,
  most: 0,  // steps made since the last edit, before going back

  reset() {
    training.running = false;
    training.losses = [];
    byName('pictures').replaceChildren();
    training.draw();
  },

  run() {
    if (!training.running) training.ended = training.loop();
    return training.ended;
  },

  /** Pauses. Returns after the last slice. */
  async stop() {
    training.running = false;
    await training.ended?.catch(() => {});  // whoever called run() handles its failure
  },

  /** Trains in slices, so that a pause takes effect within 50 ms. */
  async loop() {
    training.running = true;
    let shown = true;  // false after a picture has failed: training continues without
    training.draw();
    try {
      while (training.running) {
        const {losses} = await engine.call('steps', 1000, 40);
        training.losses.push(...losses);
        training.draw();
        if (shown && performance.now() - training.drawn > 700)
          shown = await attempt(() => training.show());
        if (!Number.isFinite(training.losses.at(-1))) {
          training.running = false;
          say('The loss is not finite. Use a smaller learning rate, then restart.');
        }
      }
      await attempt(() => showStep());  // the viewer shows the step after the pause
    } finally {
      training.running = false;
      training.draw();
    }
  },

  /** Fetches and draws what the model has learned. */
  async show() {
    const found = await engine.call('picture');
    training.drawn = performance.now();
    const drawings = [];
    if (found.boundary) drawings.push(boundary(found.boundary));
    if (found.sample) drawings.push(make('blockquote.sample', {}, found.sample));
    for (const map of found.attention || []) drawings.push(...attentionMaps(map));
    const right = found.accuracy;
    if (right != null) drawings.push(make('p', {}, `${(100 * right).toFixed(1)} % are right`));
    byName('pictures').replaceChildren(...drawings);
  },

  draw() {
    const {losses} = training, made = losses.length;
    byName('curve').replaceChildren(lossCurve(losses));
    byName('run').textContent = training.running ? 'Pause' : 'Run';
    byName('made').textContent = made === 0 ? '' :
        `step ${made}, loss ${losses[made - 1].toPrecision(4)}`;
    training.most = Math.max(training.most, made);
    const slider = byName('rewind');
    slider.max = String(Math.max(1, training.most));
    slider.value = String(Math.max(1, made));
    slider.disabled = made === 0;
  },
};

const kSvg = 'http://www.w3.org/2000/svg';
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The losses, averaged so that at most 200 points are drawn. */
function lossCurve(losses) {
  const width = 320, height = 120, pad = 46;
  const each = Math.max(1, Math.ceil(losses.length / 200)), points = [];
  for (let i = 0; i < losses.length; i += each) {
    const some = losses.slice(i, i + each).filter(Number.isFinite);
    if (some.length) points.push([i + some.length / 2, some.reduce((a, b) => a + b) / some.length]);
  }
  const highest = Math.max(...points.map(p => p[1]), 1e-9);
  const lowest = Math.min(...points.map(p => p[1]), highest);
  const x = step => pad + (width - pad - 8) * step / Math.max(1, losses.length);
  const y = loss => 8 + (height - 30) * (highest - loss) / Math.max(1e-12, highest - lowest);
  const label = (px, py, text, anchor) =>
      svg('text', {x: px, y: py, 'text-anchor': anchor}, text);
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', class: 'curve',
                     'aria-label': `loss curve of ${losses.length} steps`},
    svg('path', {class: 'axis', d: `M${pad} 8V${height - 22}H${width - 8}`}),
    svg('polyline', {points: points.map(([s, l]) => `${x(s)},${y(l)}`).join(' ')}),
    ...points.length ? [label(pad - 4, 14, highest.toPrecision(3), 'end'),
                        label(pad - 4, height - 22, lowest.toPrecision(3), 'end'),
                        label(width - 8, height - 6, `steps: ${losses.length}`, 'end')] : []);
}

/** Draws squares of one color each: colors[i] is [red, green, blue]. */
function squares(columns, colors, size, label) {
  const canvas = make('canvas', {role: 'img', 'aria-label': label});
  canvas.width = columns * size;
  canvas.height = Math.ceil(colors.length / columns) * size;
  const paint = canvas.getContext('2d');
  colors.forEach(([r, g, b], i) => {
    paint.fillStyle = `rgb(${r} ${g} ${b})`;
    paint.fillRect(i % columns * size, Math.floor(i / columns) * size, size, size);
  });
  return canvas;
}

const kBlue = [33, 102, 172], kOrange = [217, 95, 2], kPaper = [247, 247, 247];
function mixed(a, b, share) { return a.map((v, i) => Math.round(v + (b[i] - v) * share)); }

/** p of arm 1 as a color: orange 0, white 0.5, blue 1. The points are drawn over it. */
function boundary({size, values, points, arms}) {
  const color = p => p < 0.5 ? mixed(kOrange, kPaper, 2 * p) : mixed(kPaper, kBlue, 2 * p - 1);
  const canvas = squares(size, values.map(color), 8, 'the decision boundary over the points');
  const paint = canvas.getContext('2d'), side = size * 8;
  arms.forEach((arm, i) => {
    paint.fillStyle = `rgb(${(arm ? kBlue : kOrange).join(' ')})`;
    paint.strokeStyle = '#fff';
    paint.beginPath();
    paint.arc((points[2 * i] + 1) / 2 * side, (1 - points[2 * i + 1]) / 2 * side, 3, 0, 7);
    paint.fill();
    paint.stroke();
  });
  return canvas;
}

/** One square picture per head: rows are queries, columns are keys. */
function attentionMaps({layer, shape: [heads, rows, columns], values, queries, keys}) {
  const size = Math.max(4, Math.floor(160 / Math.max(rows, columns)));
  return Array.from({length: heads}, (_, head) => {
    const own = values.slice(head * rows * columns, (head + 1) * rows * columns);
    const label = `${layer}, head ${head}: queries "${queries}", keys "${keys}"`;
    return make('figure', {}, squares(columns, own.map(p => mixed(kPaper, kBlue, Math.sqrt(p))),
                                      size, label),
                make('figcaption', {}, `${layer || 'attention'}, head ${head}`));
  });
}
