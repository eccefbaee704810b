// #selftest: runs every lesson, checks that its trace can be recomputed, and edits values.

async function selftest() {
  const result = {steps: 0, edits: 0, failed: []};
  const fail = (where, error) => result.failed.push(`${where}: ${error}`);
  for (const lesson of engine.lessons) {
    for (const part of lesson.parts) {
      const where = `${lesson.number} ${part.name}`;
      try {
        await openState({lesson: lesson.number, part: part.name});
        if (byName('said').textContent) throw new Error(byName('said').textContent);
        result.steps++;
        for (const problem of recomputed()) fail(where, problem);
        for (let edit = 0; edit < 20 && part.fields.length; ++edit) {
          nudge(part, edit);
          await refresh();
          result.edits++;
          for (const problem of recomputed()) fail(`${where}, edit ${edit}`, problem);
        }
      } catch (error) {
        fail(where, error.message);
      }
    }
  }
  const out = make('pre', {id: 'selftest'}, JSON.stringify(result));
  document.body.append(out);
}

/** Changes one number of the form by a little, the same way each time. */
function nudge(part, edit) {
  const field = part.fields[edit % part.fields.length], value = form.values[field.name];
  const moved = number => {
    const whole = field.kind.startsWith('integer');
    const next = whole ? number + (edit % 2 ? 1 : -1) : number + 0.25 * (edit % 5 - 2);
    return Math.min(field.highest, Math.max(field.lowest, next));
  };
  if (typeof value === 'number') form.values[field.name] = moved(value);
  else if (Array.isArray(value) && Array.isArray(value[0])) {
    const row = value[edit % value.length];
    row[edit % row.length] = moved(row[edit % row.length]);
  } else if (Array.isArray(value)) value[edit % value.length] = moved(value[edit % value.length]);
}

/** The cells of the shown trace whose recomputed value differs. */
function recomputed() {
  return byName('viewer').hidden ? [] : app.recompute().failed;
}
