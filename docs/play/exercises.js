// Exercises graded by the checker in the engine.

const exercises = {
  open() {
    const list = engine.exercises.map(({number, title, kind}) =>
        make('option', {value: String(number)}, `${kKinds[kind] || kind}: ${title}`));
    byName('exercise').replaceChildren(...list);
    byName('exercise').onchange = exercises.draw;
    exercises.draw();
  },

  draw() {
    const number = Number(byName('exercise').value);
    const exercise = engine.exercises.find(each => each.number === number);
    if (!exercise) return;
    const list = exercise.kind === 'bug' ? 'ol' : 'div';
    byName('task').textContent = kTasks[exercise.kind] || '';
    byName('statement').replaceChildren(...exercise.statement.map(
        line => make('p', {}, ...prose(line))));
    byName('choices').replaceChildren(make(`${list}.choices`, {}, ...exercise.choices.map(
        (text, choice) => {
          const pick = button(prose(text),
                              event => exercises.grade(number, choice, event.currentTarget));
          return list === 'ol' ? make('li', {}, pick) : pick;
        })));
    byName('verdict').replaceChildren();
  },

  async grade(number, choice, pressed) {
    try {
      const {correct, report, explanation} = await engine.call('check', number, choice);
      pressed.classList.add(correct ? 'right' : 'wrong');
      byName('verdict').replaceChildren(
          make('p', {}, make('strong', {}, correct ? '✓ Right. ' : '✗ Not this one. '),
               ...prose(explanation)),
          make('details', {open: !correct}, make('summary', {}, "The checker's report"),
               make('pre', {}, report)));
    } catch (error) {
      byName('verdict').replaceChildren(make('p.problem', {}, error.message));
    }
  },
};

const kTasks = {which: 'Click the right backward pass.', factor: 'Click the factor that fits.',
                bug: 'Click the wrong line.'};
const kKinds = {which: 'Which is right', factor: 'Fill in the factor', bug: 'Spot the bug'};
