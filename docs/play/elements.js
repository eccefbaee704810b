// Creates elements: make('button.run', {type: 'button', onclick}, 'Step').

function make(what, attributes = {}, ...children) {
  const [tag, ...classes] = what.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== 'string') element[name] = value;
    else if (value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child != null && child !== false));
  return element;
}

function button(label, onclick, attributes = {}) {
  return make('button', {type: 'button', onclick, ...attributes}, ...[label].flat());
}

/** A text whose parts between backticks are formulas, as elements. */
function prose(text) {
  return text.split('`').map((part, i) => i % 2 ? app.math(part) : part);
}
