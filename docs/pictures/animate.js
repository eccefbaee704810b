// Draws docs/pictures/play.png, an animation of the playground: a value of q grows, and its
// gradients change. Needs Chromium, and the page from tools/play.sh.
//
//   node docs/pictures/animate.js
'use strict';
const fs = require('fs'), path = require('path'), zlib = require('zlib');
const {Browser} = require('../../tests/trace/viewer/support.js');

const kPage = path.resolve(__dirname, '../../build/play/play.html');
const kWidth = 1400, kHeight = 860, kMilliseconds = 900;

/** The chunks of a PNG file: [{type, data}]. */
function chunks(png) {
  const out = [];
  for (let at = 8; at < png.length;) {
    const size = png.readUInt32BE(at);
    out.push({type: png.toString('latin1', at + 4, at + 8),
              data: png.subarray(at + 8, at + 8 + size)});
    at += size + 12;
  }
  return out;
}

const kTable = Array.from({length: 256}, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? 0xEDB88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
const crc32 = bytes =>
    bytes.reduce((sum, byte) => kTable[(sum ^ byte) & 255] ^ (sum >>> 8), -1) ^ -1;

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body) >>> 0, body.length + 4);
  return out;
}

function numbers(...values) {
  const out = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => out.writeUInt32BE(value, 4 * i));
  return out;
}

/** Joins PNG files of one size into an animated PNG, which repeats. */
function animated(frames) {
  const parts = [frames[0].subarray(0, 8)], head = chunks(frames[0])[0].data;
  parts.push(chunk('IHDR', head), chunk('acTL', numbers(frames.length, 0)));
  let sequence = 0;
  frames.forEach((frame, i) => {
    const data = Buffer.concat(chunks(frame).filter(c => c.type === 'IDAT').map(c => c.data));
    const smaller = zlib.deflateSync(zlib.inflateSync(data), {level: 9});
    parts.push(chunk('fcTL', Buffer.concat([
      numbers(sequence++, head.readUInt32BE(0), head.readUInt32BE(4), 0, 0),
      Buffer.from([kMilliseconds >> 8, kMilliseconds & 255, 1000 >> 8, 1000 & 255, 0, 0])])));
    parts.push(i === 0 ? chunk('IDAT', smaller) :
        chunk('fdAT', Buffer.concat([numbers(sequence++), smaller])));
  });
  parts.push(chunk('IEND', Buffer.alloc(0)));
  return Buffer.concat(parts);
}

async function main() {
  const browser = await Browser.open(), frames = [];
  try {
    await browser.size(kWidth, kHeight, {scale: 0.68});
    await browser.visit(kPage);
    await browser.until("document.getElementById('printed').textContent !== ''", 60);
    for (const value of [1, 2, 3, 2]) {
      await browser.run(`form.values.q[0][0] = ${value}, form.draw(), refresh()`);
      await browser.run('new Promise(done => setTimeout(done, 400))');
      const {data} = await browser.send('Page.captureScreenshot', {format: 'png'});
      frames.push(Buffer.from(data, 'base64'));
    }
  } finally {
    await browser.close();
  }
  const file = path.join(__dirname, 'play.png');
  fs.writeFileSync(file, animated(frames));
  console.log(`${file}: ${frames.length} frames, ${fs.statSync(file).size} bytes`);
}

main();
