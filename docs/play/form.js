// The fields of a part: numbers with sliders, matrices, texts. Calls changed() after each edit.

const form = {
  fields: [], values: {}, changed() {},
  last: null,  // the number edited last, as {label, text}; null after other edits

  open(part, values, changed) {
    form.fields = part.fields;
    form.last = null;
    form.values = {};
    for (const field of part.fields)
      form.values[field.name] = structuredClone(
          fits(values[field.name], field) ? values[field.name] : field.value);
    form.changed = changed;
    form.draw();
  },

  /** The values that differ from the initial ones. */
  edited() {
    const out = {};
    for (const {name, value} of form.fields)
      if (JSON.stringify(form.values[name]) !== JSON.stringify(value))
        out[name] = form.values[name];
    return out;
  },

  draw() {
    byName('fields').replaceChildren(...form.fields.map(field => make('fieldset.field',
        {id: `field-${field.name}`},
        make('legend', {}, make('code', {}, field.name), ` ${field.label}`),
        kEditors[field.kind](field),
        make('p.problem', {id: `problem-${field.name}`, role: 'alert'}))));
  },

  set(name, value) {
    form.values[name] = value;
    form.changed();
  },

  /** Shows a message next to its field. Returns false if it belongs to no field. */
  complain(name, message) {
    for (const field of form.fields) {
      const bad = field.name === name;
      byName(`problem-${field.name}`).textContent = bad ? message : '';
      for (const input of byName(`field-${field.name}`).querySelectorAll('input, textarea'))
        input.setAttribute('aria-invalid', bad);
    }
    return form.fields.some(field => field.name === name);
  },
};

/** True if a value, which may come from an address, can be shown in the field's editor. */
function fits(value, {kind, value: example}) {
  const row = each => Array.isArray(each) && each.length > 0 && each.every(single);
  const single = each => ['number', 'string'].includes(typeof each);
  if (kind === 'text') return typeof value === 'string';
  if (!Array.isArray(example)) return single(value);
  const filled = Array.isArray(value) && value.length > 0;
  return kind === 'rows' ? filled && value.every(row) : row(value);
}

/** The text of an input as a number; other texts are sent as they are, and the engine objects. */
function numberIn(input) {
  const text = input.value.trim().replace(',', '.');
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) ?
      Number(text) : input.value;
}

function numberInput(field, value, label, changed) {
  return make('input.number', {type: 'text', inputmode: 'decimal', value: String(value),
                               'aria-label': label, spellcheck: false,
                               oninput({target}) {
                                 form.last = {label, text: target.value};
                                 changed(numberIn(target));
                               }});
}

function numberEditor(field) {
  const input = numberInput(field, form.values[field.name], field.name, value => {
    slider.value = value;
    form.set(field.name, value);
  });
  const span = field.highest - field.lowest, whole = field.kind === 'integer';
  const reach = span <= 1000 ? [field.lowest, field.highest] :
      [field.lowest, Math.max(1, 4 * Math.abs(field.value))];
  const slider = make('input', {type: 'range', min: String(reach[0]), max: String(reach[1]),
                                step: whole ? '1' : 'any', 'aria-label': `${field.name}, slider`});
  slider.value = form.values[field.name];
  slider.addEventListener('input', () => {
    const value = whole ? Number(slider.value) : Number(Number(slider.value).toPrecision(3));
    input.value = value;
    form.last = {label: field.name, text: String(value)};
    form.set(field.name, value);
  });
  return make('div.pair', {}, input, slider);
}

function resized(field, change, focus) {
  form.last = null;
  change();
  form.draw();
  byName(`field-${field.name}`).querySelector(`button[data-do="${focus}"]`)?.focus();
  form.changed();
}

function rowEditor(field) {
  const row = form.values[field.name];
  return make('div.cells', {}, ...row.map((value, i) =>
      numberInput(field, value, `${field.name}[${i}]`, number => {
        row[i] = number;
        form.changed();
      })),
      button('+', () => resized(field, () => row.push(row.at(-1)), 'longer'),
             {'aria-label': `${field.name}: add a value`, 'data-do': 'longer'}),
      button('−', () => resized(field, () => row.length > 1 && row.pop(), 'shorter'),
             {'aria-label': `${field.name}: remove the last value`, 'data-do': 'shorter'}));
}

function rowsEditor(field) {
  const rows = form.values[field.name];
  const change = (word, label, how) => button(label, () => resized(field, how, word),
      {'aria-label': `${field.name}: ${word}`, title: word, 'data-do': word});
  const table = make('table.matrix', {}, make('tbody', {}, ...rows.map((row, r) =>
      make('tr', {}, ...row.map((value, c) => make('td', {},
          numberInput(field, value, `${field.name}[${r}][${c}]`, number => {
            row[c] = number;
            form.changed();
          })))))));
  return make('div', {}, make('div.scroll', {}, table), make('div.sizes', {},
      change('add a row', '+ row', () => rows.push([...rows.at(-1)])),
      change('remove the last row', '− row', () => rows.length > 1 && rows.pop()),
      change('add a column', '+ column', () => rows.forEach(row => row.push(0))),
      change('remove the last column', '− column',
             () => rows[0].length > 1 && rows.forEach(row => row.pop()))));
}

function textEditor(field) {
  const long = field.highest > 100, attributes = {'aria-label': field.name, spellcheck: false,
    oninput(event) {
      form.last = null;
      form.set(field.name, event.target.value);
    }};
  const box = make(long ? 'textarea' : 'input.long', attributes);
  box.value = form.values[field.name];
  return box;
}

const kEditors = {number: numberEditor, integer: numberEditor, row: rowEditor, integers: rowEditor,
                  rows: rowsEditor, text: textEditor};
