// Predict mode for edits: asks for a gradient that an edit changes before the page shows it.

const predict = {
  due: false,  // true after an edit of a number, until its step has run
  reveal: null,  // shows the step of the question; null without a question
  asked: 0, right: 0,

  close() {
    predict.reveal = null;
    byName('guess').hidden = true;
  },

  /** Asks about a new trace, and calls `show` after the answer. Returns false if there is nothing
      to ask. */
  ask(trace, show) {
    const due = predict.due && form.last && app.t && app.state.quiz && !play.part.training;
    predict.due = false;
    const found = due && trace.ops ? app.changes(trace) : [];
    const field = name => name.split('[')[0];
    const asked = found.find(({name}) => field(name) === `d${field(form.last.label)}`) || found[0];
    if (!asked) return false;
    predict.reveal = () => {
      predict.close();
      show();
      const cell = {id: asked.id, i: asked.i};
      app.go({v: 'step', s: app.arithmetic(cell).step || app.state.s, cell});
    };
    const {label, text} = form.last;
    byName('guess-verdict').textContent = '';
    byName('question').textContent = `You change ${label} to ${text}. ${asked.name} was ` +
        `${rounded(asked.was)}. What does it become?`;
    byName('guess').hidden = false;
    byName('guess').onsubmit = event => {
      event.preventDefault();
      if (byName('answer').value) predict.grade(asked, numberIn(byName('answer')));
      else predict.reveal();
    };
    byName('answer').value = '';
    return true;
  },

  /** Right is 1 % off at most. */
  grade({name, now}, given) {
    const right = Math.abs(given - now) <= Math.max(0.01 * Math.abs(now), 0.005);
    predict.asked++;
    if (right) predict.right++;
    predict.reveal();
    byName('guess-verdict').textContent = `${right ? '✓ Right' : '✗ No'}: ${name} is ` +
        `${rounded(now)}. ${predict.right} of ${predict.asked} right so far.`;
  },
};

function rounded(value) { return String(Number(value.toPrecision(4))).replace('-', '−'); }
