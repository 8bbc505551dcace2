#!/usr/bin/env node
// Starts Divan: from its bundles, or from its sources in a checkout where these have changed; under this Node if it is new enough,
// else under the Node that `npm ci` installs in a checkout.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { codeFolder, isCheckout } from './code-folder.js';

const at = (path) => new URL(`../${path}`, import.meta.url);
const major = Number(process.versions.node.split('.')[0]);
if (process.platform === 'win32') {
  // Folders cannot be synced there, nor nodes be started through /bin/sh.
  console.error('divan: runs on Linux and macOS; on Windows use it in WSL');
  process.exitCode = 1;
} else if (major >= 24) {
  module.enableCompileCache(fileURLToPath(at('node_modules/.cache/divan')));
  if (codeFolder() === 'src') {
    const { registerModuleResolver } = await import('../src/ports/own-modules.ts');
    registerModuleResolver();
    await import('../src/main/divan.ts');
  } else await import('../built/node/divan.js');
} else {
  runUnderOwnNode();
}

function runUnderOwnNode() {
  const own = fileURLToPath(at('node_modules/.bin/node'));
  if (!existsSync(own)) {
    const hint =
      isCheckout && process.platform === 'linux'
        ? 'run "npm ci" to get the project\'s own'
        : 'install it from https://nodejs.org';
    console.error(`divan: needs Node 24 or newer (this is ${process.version}); ${hint}`);
    process.exit(1);
  }
  const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  // npm passes no signal on: where it ends, another process becomes the parent of this one.
  const parent = process.ppid;
  if (process.env.npm_command !== undefined)
    setInterval(() => process.ppid === parent || child.kill('SIGTERM'), 500).unref();
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exit(code ?? 1);
  });
}
