// test_firefox.js PLAY.html: opens the playground in Firefox, from a file and without a network.
// Drives Firefox by its Marionette protocol: "length:[0, id, command, parameters]" over TCP.
'use strict';
const assert = require('assert'), fs = require('fs'), net = require('net'), os = require('os');
const path = require('path');
const {spawn} = require('child_process');
const {run, skip} = require('../trace/viewer/support.js');

const kPage = path.resolve(process.argv[2]), kNames = ['firefox-esr', 'firefox'];
const kSettings = {
  'marionette.port': 0,  // any: see the file MarionetteActivePort
  'network.proxy.type': 1, 'network.proxy.http': '127.0.0.1', 'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1', 'network.proxy.ssl_port': 9,
  'devtools.console.stdout.content': true, 'browser.dom.window.dump.enabled': true,
};

function findFirefox() {
  const folders = (process.env.PATH || '').split(':');
  return folders.flatMap(folder => kNames.map(name => path.join(folder, name))).find(fs.existsSync);
}
const pause = () => new Promise(done => setTimeout(done, 100));

class Firefox {
  async open() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gradus-firefox-'));
    fs.writeFileSync(path.join(this.folder, 'user.js'), Object.entries(kSettings).map(
        ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(''));
    const options = ['--headless', '--no-remote', '--marionette', '--remote-allow-system-access', '--profile'];
    this.process = spawn(findFirefox(), [...options, this.folder],
                         {stdio: ['ignore', 'pipe', 'ignore'], env: {...process.env, HOME: this.folder}});
    this.printed = '';
    this.process.stdout.on('data', data => { this.printed += data; });
    const active = path.join(this.folder, 'MarionetteActivePort');
    for (let i = 0; !fs.existsSync(active) || !fs.readFileSync(active, 'utf8'); ++i) {
      assert.ok(i < 600, 'Firefox does not start');
      await pause();
    }
    this.socket = net.connect(Number(fs.readFileSync(active, 'utf8')), '127.0.0.1');
    this.answers = new Map(), this.next = 0, this.text = Buffer.alloc(0);
    this.socket.on('data', data => this.take(data));
    await this.send('WebDriver:NewSession');
  }
  take(data) {
    this.text = Buffer.concat([this.text, data]);
    for (let colon; (colon = this.text.indexOf(58)) > 0;) {
      const end = colon + 1 + Number(this.text.toString('utf8', 0, colon));
      if (this.text.length < end) return;
      const message = JSON.parse(this.text.toString('utf8', colon + 1, end));
      this.text = this.text.subarray(end);
      if (Array.isArray(message)) this.answers.get(message[1])(message);  // the first is a greeting
    }
  }
  async send(command, parameters = {}) {
    const id = ++this.next, text = JSON.stringify([0, id, command, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    const [, , error, result] = await new Promise(done => this.answers.set(id, done));
    if (error) throw new Error(`${command}: ${error.message}`);
    return result;
  }
  /** Returns the value of a function's body, in the page or (chrome) in the browser. */
  async run(script, context = 'content') {
    await this.send('Marionette:SetContext', {value: context});
    return (await this.send('WebDriver:ExecuteScript', {script, args: []})).value;
  }
  async until(script) {
    for (let i = 0; i < 600; ++i) {
      const value = await this.run(script);
      if (value) return value;
      await pause();
    }
    throw new Error(`timeout: ${script}`);
  }
  /** Returns errors and warnings of the page, and its calls of the console. */
  async complaints() {
    const all = await this.run('return Services.console.getMessageArray().map(each => each.message)', 'chrome');
    const known = /file: "(chrome|resource|moz-extension):|WebAssembly exception handling 'try'/;
    return [...all.filter(each => each.startsWith('[JavaScript') && !known.test(each)),
            ...this.printed.match(/^console\.\w+: (?!\w+: ).*/gm) || []];  // Firefox's own have a name
  }
  async close() {
    const ended = new Promise(done => this.process.once('exit', done));
    await this.send('Marionette:Quit', {flags: ['eForceQuit']});
    await ended;
    fs.rmSync(this.folder, {recursive: true, force: true, maxRetries: 5});
  }
}

const firefox = new Firefox();
const kCells = "[...document.querySelectorAll('#viewer td[data-i]')].map(td => td.textContent).join()";
const cases = {
  async 'opens without a network or a complaint, and shows the first step'() {
    await firefox.send('WebDriver:Navigate', {url: `file://${kPage}`});
    await firefox.until("return document.getElementById('printed').textContent");
    assert.ok(await firefox.run("return document.querySelectorAll('#viewer td[data-i]').length > 20"));
    assert.equal(await firefox.run("return document.getElementById('said').textContent"), '');
    assert.deepEqual(await firefox.complaints(), []);
  },
  async 'an edit draws the step again'() {
    const before = await firefox.run(`return ${kCells}`);
    await firefox.run(`const input = document.querySelector('#field-q input.number');
      input.value = '3';
      input.dispatchEvent(new Event('input', {bubbles: true}));`);
    await firefox.until(`return ${kCells} !== ${JSON.stringify(before)}`);
    assert.ok(await firefox.run("return document.querySelectorAll('#viewer td.changed').length > 0"));
    assert.deepEqual(await firefox.complaints(), []);
  },
};

(async () => {
  if (!findFirefox()) skip('Firefox is not installed: apt-get install firefox-esr');
  process.on('exit', () => firefox.process?.kill('SIGKILL'));
  await firefox.open();
  await run(cases, () => firefox.close());
})();
