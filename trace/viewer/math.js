// Formulas as MathML. They are written as in docs/derivations: y_ri = exp(x_ri) / Σ_j exp(x_rj).

const kRaised = {'²': '2', '³': '3', '¹': '1', '⁻': '−', 'ᵀ': 'T', 'ᵖ': 'p', 'ⁿ': 'n'};
const kLetter = `(?![${Object.keys(kRaised).join('')}])[\\p{L}\\p{M}′]`;
const kToken = new RegExp([
  '(?<space>\\s+)', '(?<number>½|\\d+(?:\\.\\d+)?(?:e[−-]?\\d+)?)',
  `(?<raised>[${Object.keys(kRaised).join('')}]+)`, '(?<sum>[ΣΠ∏]|\\b(?:max|min)(?=_))',
  `(?<name>∂?(?:${kLetter})+)`, '(?<sub>_)', '(?<mark>\\+=|.)',
].join('|'), 'uy');

function mathTokens(text) {
  const out = [];
  kToken.lastIndex = 0;
  for (let m = kToken.exec(text); m; m = kToken.exec(text)) {
    const [kind, value] = Object.entries(m.groups).find(g => g[1] != null);
    if (kind === 'space') (out.at(-1) || {}).spaced = true;
    else out.push({kind, value});
  }
  return out;
}

function m(tag, ...kids) {
  const e = document.createElementNS('http://www.w3.org/1998/Math/MathML', tag);
  e.append(...kids.flat(9));
  return e;
}
function space() {
  const e = m('mspace');
  e.setAttribute('width', '.15em');
  return e;
}
const together = kids => kids.length === 1 ? kids[0] : m('mrow', kids);

/** A name in italics if it is one letter; a leading d (a gradient) or ∂ stands apart. */
function nameMath(name) {
  const [, sign, rest] = name.match(/^(∂|d(?=\p{L}))?(.*)$/u);
  if (!sign) return m('mi', name);
  const first = m('mi', sign);
  first.setAttribute('mathvariant', 'normal');
  return m('mrow', first, m('mi', rest));
}

/** True if a token starts a factor, rather than being a sign between factors. */
const isFactor = ({kind, value}) => kind !== 'mark' || '([{√∂'.includes(value);

/** Reads tokens as MathML. A slash becomes a fraction. */
class MathReader {
  constructor(tokens) { this.tokens = tokens, this.at = 0; }
  next() { return this.tokens[this.at]; }
  take() { return this.tokens[this.at++]; }
  is(value) { return this.next()?.value === value; }

  /** Everything up to a closing mark, as elements. */
  all(close) {
    const out = [];
    let term = 0;  // start of the term that a slash makes a numerator
    while (this.next() && !close?.includes(this.next().value)) {
      if (this.is('/')) {
        const spaced = this.tokens[this.at - 1]?.spaced;
        this.take();
        const above = out.splice(spaced ? term : -1);
        out.push(m('mfrac', this.bare(above), this.bare(this.below())));
      } else if (!isFactor(this.next())) {
        out.push(m('mo', this.take().value)), term = out.length;
      } else {
        if (out.length > term) out.push(space());
        out.push(this.primary());
      }
    }
    return out;
  }
  /** A denominator: one factor, or a sum with its terms. */
  below() {
    const out = [this.primary()], sum = out[0].getAttribute('data-sum');
    while (sum && this.next() && isFactor(this.next())) out.push(space(), this.primary());
    return out;
  }
  bare(kids) {
    const only = kids.length === 1 && kids[0].getAttribute('data-fenced') === '(';
    return only ? kids[0].children[1] : together(kids);
  }
  fenced() {
    const open = this.take().value, close = {'(': ')', '[': ']', '{': '}'}[open];
    const inner = this.all(close);
    this.take();
    const e = m('mrow', m('mo', open), m('mrow', inner), m('mo', close));
    e.setAttribute('data-fenced', open);
    return e;
  }
  /** A name, number or group with its index, arguments and power. */
  primary() {
    const {kind, value, spaced} = this.next();
    let e = kind === 'mark' && '([{'.includes(value) ? this.fenced() : null;
    if (!e) {
      this.take();
      if (value === '√') return m('msqrt', this.bare([this.primary()]));
      if (value === '∂') return m('mrow', m('mo', '∂'), this.primary());
      e = kind === 'number' ? m('mn', value) : kind === 'sum' ? m('mo', value) :
        kind === 'name' ? nameMath(value) : kind === 'raised' ? m('mi', value) : m('mo', value);
    }
    if (!spaced && this.next()?.kind === 'sub') {
      this.take();
      e = m(kind === 'sum' ? 'munder' : 'msub', e, together(this.index()));
    }
    if (kind === 'sum') e.setAttribute('data-sum', '1');
    if (kind === 'name' && this.is('(') && !this.tokens[this.at - 1].spaced)
      e = m('mrow', e, this.fenced());
    if (this.next()?.kind === 'raised')
      e = m('msup', e, m('mi', [...this.take().value].map(c => kRaised[c]).join('')));
    if (this.is('^')) this.take(), e = m('msup', e, this.bare([this.primary()]));
    return e;
  }
  /** The letters and {groups} of an index. */
  index() {
    const out = [];
    for (let braced = false, more = true; more && this.next();) {
      const {kind, value} = this.next(), open = value === '{';
      if (!open && kind !== 'name' && kind !== 'number') break;
      if (out.length && (braced || open)) out.push(m('mo', ','));
      if (open) {
        this.take();
        out.push(together(this.all('}')));
      } else out.push(...[...value].map(c => m(kind === 'name' ? 'mi' : 'mn', c)));
      braced = open, more = !this.take()?.spaced;
    }
    return out.length ? out : [m('mi', '')];
  }
}

/** A formula as a <math> element, or as text if it is not written in this way. */
function math(text) {
  try {
    return m('math', new MathReader(mathTokens(text)).all());
  } catch { return h('span', {}, text); }
}
