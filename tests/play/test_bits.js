// test_bits.js PLAY BUILD: the WebAssembly engine in BUILD computes the same bits as the program
// PLAY, for the initial values of every part and for twenty edits of each.
'use strict';
const fs = require('fs'), path = require('path');
const {execFileSync} = require('child_process');

const [program, build] = process.argv.slice(2).map(name => path.resolve(name));
const kRoot = path.resolve(__dirname, '../..'), kEdits = 20;
// Not compared: lines of code and program names.
const kElsewhere = ['meta', 'frames', 'stacks', 'sources', 'files'];

/** Random numbers in [0, 1), the same in each run. */
let seed = 1;
function random() {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) / 2 ** 24;
}

function editedNumber(field, value) {
  const whole = field.kind.startsWith('integer');
  const moved = value + (whole ? Math.floor(7 * random()) - 3 : 6 * random() - 3);
  const low = field.lowest, high = Math.min(field.highest, Math.max(4 * Math.abs(value), 8));
  return Math.min(high, Math.max(low, whole ? moved : Number(moved.toFixed(3))));
}

/** Changes one number of some fields. */
function edited(part) {
  const values = {part: part.name};
  for (const field of part.fields) {
    if (random() < 0.4) continue;
    const value = structuredClone(field.value);
    if (typeof value === 'number') values[field.name] = editedNumber(field, value);
    else if (Array.isArray(value)) {
      const row = Array.isArray(value[0]) ? value[Math.floor(random() * value.length)] : value;
      const at = Math.floor(random() * row.length);
      row[at] = editedNumber(field, row[at]);
      values[field.name] = value;
    }
  }
  return values;
}

function native(lesson, values, steps) {
  try {
    const out = execFileSync(program, [String(lesson), JSON.stringify(values), String(steps)],
        {cwd: kRoot, env: {...process.env, GRADUS_SIMD: 'baseline', GRADUS_BLAS: 'builtin'},
         maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe']});
    return JSON.parse(out.toString().trim().split('\n').at(-1));
  } catch (error) {
    if (error.status !== 2) throw error;
    return {error: JSON.parse(error.stderr.toString().replace(/^play: /, '')).message};
  }
}

/** Runs the engine in this process. */
function inNode(engine, lesson, values, steps) {
  const text = at => engine.UTF8ToString(at);
  const failed = () => ({error: JSON.parse(text(engine._play_error())).message});
  if (!engine.ccall('play_begin', 'number', ['number', 'string'], [lesson, JSON.stringify(values)]))
    return failed();
  let trace = 0;
  for (let step = 1; step <= steps; ++step)
    if (!(trace = engine._play_step(step === steps ? 1 : 0))) return failed();
  const json = JSON.parse(text(trace));
  return {trace: json, text: text(engine._play_text())};
}

/** Returns the names of the fields that differ. */
function differences(a, b) {
  if (a.error !== b.error) return [`error: ${a.error} | ${b.error}`];
  if (a.error) return [];
  const names = new Set([...Object.keys(a.trace), ...Object.keys(b.trace)]);
  const out = [...names].filter(name => !kElsewhere.includes(name) &&
      JSON.stringify(a.trace[name]) !== JSON.stringify(b.trace[name]));
  const reordered = out.length > 0 && contents(a.trace) === contents(b.trace);
  return [...reordered ? [] : out, ...a.text === b.text ? [] : ['text']];
}

/** All values and op names, sorted: compilers evaluate call arguments in different orders. */
function contents({values, ops}) {
  const texts = (values || []).map(value => JSON.stringify(value));
  const names = ops ? ops.rows.map(row => row[0]) : [];
  return [...texts, ...names].sort().join();
}

async function main() {
  const Gradus = require(path.join(build, 'play.js'));
  const wasmBinary = fs.readFileSync(path.join(build, 'play.wasm'));
  const engine = await Gradus({wasmBinary, print() {}, printErr() {}});
  const lessons = JSON.parse(engine.UTF8ToString(engine._play_lessons()));
  let compared = 0, failed = 0;
  for (const {number, parts} of lessons) {
    for (const part of parts) {
      const steps = part.training ? 3 : 1;
      for (let edit = 0; edit <= (part.fields.length ? kEdits : 0); ++edit) {
        const values = edit === 0 ? {part: part.name} : edited(part);
        const found = differences(native(number, values, steps),
                                  inNode(engine, number, values, steps));
        compared++;
        if (found.length === 0) continue;
        failed++;
        console.log(`${number} ${JSON.stringify(values)}: different ${found.join(', ')}`);
      }
    }
  }
  console.log(`${compared} runs compared, ${failed} differ, ` +
              `${(engine.HEAPF64.length * 8 / 2 ** 20).toFixed(0)} MiB of memory`);
  if (failed > 0 || compared === 0) process.exitCode = 1;
}

main().catch(error => {
  console.log(String(error.stack || error).slice(0, 2000));
  process.exitCode = 1;
});
