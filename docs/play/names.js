// Names the tensors that hold a field's values, so that the viewer shows the names of the form.

/** The values of a tensor in a trace, or null if they are not stored in full. */
function storedValues(stored) {
  const text = stored?.f64 ?? stored?.f32;
  if (!text) return null;
  const {buffer} = unpacked(text);
  return [...stored.f64 ? new Float64Array(buffer) : new Float32Array(buffer)];
}

/** Field values as text → field name, or null if several fields have these values. */
function fieldNames() {
  const names = new Map();
  for (const {name, kind} of form.fields) {
    if (!/^(number|row|rows)$/.test(kind)) continue;
    const key = String([form.values[name]].flat(2));
    names.set(key, names.has(key) ? null : name);
  }
  return names;
}

/** Adds names to the inputs of a trace that have none. */
function nameInputs(trace) {
  const names = fieldNames(), {columns, rows} = trace.tensors;
  const [kind, values, name] = ['kind', 'values', 'name'].map(each => columns.indexOf(each));
  for (const row of rows) {
    if (row[name] != null || row[values] == null || /^(result|grad)$/.test(row[kind])) continue;
    const found = storedValues(trace.values[row[values]]);
    const match = found && names.get(String(found));
    if (match) row[name] = match;
  }
}
