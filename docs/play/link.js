// The state of the page as text: the address, the C++ program, the gdb command.

/** Lesson, part, edited values and step, as the address keeps them. */
function stateText() {
  const state = {lesson: play.lesson.number, part: play.part.name, step: play.step};
  const edited = form.edited();
  if (Object.keys(edited).length) state.values = edited;
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const letters = Array.from(bytes, byte => String.fromCharCode(byte)).join('');
  return btoa(letters).replaceAll('+', '-').replaceAll('/', '_')
      .replaceAll('=', '');
}

/** Returns {} for an address without a state, or with one that cannot be read. */
function stateIn(hash) {
  const text = new URLSearchParams(hash.replace(/^#/, '')).get('play');
  if (!text) return {};
  try {
    const letters = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const state = JSON.parse(new TextDecoder().decode(
        Uint8Array.from(letters, letter => letter.charCodeAt(0))));
    return state && typeof state === 'object' ? state : {};
  } catch {
    return {};
  }
}

/** A value as C++: a matrix is {{1, 2}, {3, 4}}. */
function cppValue(value) {
  if (Array.isArray(value)) return `{${value.map(cppValue).join(', ')}}`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** The call of the lesson's function with the values of the form. */
function cppCall() {
  const {part} = play;
  if (part.call)
    return part.call.replace(/\{(\w+)\}/g, (whole, name) => cppValue(form.values[name] ?? whole));
  return `${part.name}(${part.fields.map(({name}) => cppValue(form.values[name])).join(', ')});`;
}

/** main() of the lesson for these values, and the command that stops at the same operation. */
function program() {
  const {source} = play.lesson;
  if (!source) return `${cppCall()}\n`;
  const number = source.match(/(\d\d)_/)[1], {op} = app.t ? app.step() : {};
  const at = op && (op.node ?? op.op);
  return `// Replaces main() in ${source}.\nint main() {\n` +
      `  set_default_dtype(Dtype::${play.lesson.dtype});\n  ${cppCall()}\n}\n\n` +
      `// Stops at the operation shown:  ./step.sh ${number}${at ? ` --at ${at}` : ''}\n`;
}
