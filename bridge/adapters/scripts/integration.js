// What ralph-bridge loads into Node.js: announcements of prompts and commands (OSC 633), each ending in a nonce
// and the prompt's number.
// Works preloaded (node -i -r FILE), as the main script and from -e; `_ripple_exec_file` is what adapter files call.
'use strict';
(() => {
  const fs = require('fs');
  const repl = require('repl');
  const nonce = '{nonce}';
  let number = 0;
  const mark = (payload) => '\x1b]633;' + payload + ';' + nonce + '.' + number + '\x07';
  let failed = false;
  let hidden = null;
  try {
    const pattern = Buffer.from('{history_filter}', 'hex').toString();
    hidden = pattern && new RegExp(pattern);
  } catch { /* one that only others understand */ }

  const attach = (server) => {
    if (server.__rb) return server;
    Object.defineProperty(server, '__rb', { value: true });
    const display = server.displayPrompt;
    let running = false;
    // Set for every error that is shown, whichever way it came.
    let lastError = server.lastError;
    Object.defineProperty(server, 'lastError', {
      configurable: true,
      enumerable: true,
      get: () => lastError,
      set: (error) => { failed = true; lastError = error; },
    });
    const finished = () => {
      let cwd = '';
      try { cwd = process.cwd(); } catch { /* it was removed */ }
      server.output.write(mark(`D;${failed ? 1 : 0}`) + (cwd ? mark(`P;Cwd=${cwd}`) : ''));
      number += 1;
      server.output.write(mark('A'));
      failed = running = false;
    };
    server.setPrompt('> ');
    server.displayPrompt = function (keepCursor) {
      const continued = Boolean(this[bufferedSymbol(this)]);
      if (!continued) {
        // The newest line comes first.
        if (hidden && this.history && hidden.test(this.history[0] || '')) this.history.shift();
        finished();
      }
      const shown = display.call(this, keepCursor);
      this.output.write(mark(continued ? 'K' : 'B'));
      return shown;
    };
    const evaluate = server.eval;
    server.eval = function (code, context, file, callback) {
      if (!running) {
        running = true;
        server.output.write(mark('C'));
      }
      return evaluate.call(this, code, context, file, callback);
    };
    server.context._ripple_exec_file = globalThis._ripple_exec_file = (path) => {
      // Nobody typed the line that called us.
      if (/_ripple_exec_file\(/.test((server.history || [])[0] || '')) server.history.shift();
      return runFile(path);
    };
    // Its first prompt was drawn before we came.
    finished();
    server.output.write(mark('B'));
    return server;
  };

  // The lines of an unfinished statement are kept under a symbol.
  const bufferedSymbol = (server) => {
    for (const symbol of Object.getOwnPropertySymbols(server)) {
      if (String(symbol) === 'Symbol(bufferedCommand)') return symbol;
    }
    return Symbol.for('bufferedCommand');
  };

  // Runs a file as if it had been typed: declarations stay, the last value is shown, top-level await works.
  const runFile = (path) => {
    const source = fs.readFileSync(path, 'utf8');
    try { fs.unlinkSync(path); } catch { /* it is removed by the host as well */ }
    const vm = require('vm');
    if (!/\bawait\b/.test(source)) return vm.runInThisContext(source, { filename: 'input' });
    const names = [...source.matchAll(/^(?:const|let|var|class|(?:async\s+)?function\*?)\s+([A-Za-z_$][\w$]*)/gm)];
    const keep = names.map((found) => `globalThis[${JSON.stringify(found[1])}] = ${found[1]};`).join('');
    return vm.runInThisContext(`(async () => {\n${source}\n${keep}})()`, { filename: 'input' });
  };

  const start = repl.start;
  const ours = typeof module !== 'undefined' && require.main === module;
  repl.start = function (...given) { return attach(start.apply(this, given)); };
  if (ours || (process._eval != null && !process._forceRepl)) {
    attach(start({ prompt: '> ', useGlobal: true, ignoreUndefined: false }));
  } else if (repl.repl) {
    attach(repl.repl);
  }
})();
