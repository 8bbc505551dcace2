#!/usr/bin/env node
// Starts Divan under a Node that runs TypeScript: this one if it is new enough, else the project's own.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const major = Number(process.versions.node.split('.')[0]);
if (major >= 24) {
  module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/divan', import.meta.url)));
  await import(new URL('../src/main/divan.ts', import.meta.url).href);
} else {
  runUnderOwnNode();
}

function runUnderOwnNode() {
  const own = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
  if (!existsSync(own)) {
    console.error(
      `divan: needs Node 24 or newer (this is ${process.version}); run "npm ci" to get the project's own`,
    );
    process.exit(1);
  }
  const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exit(code ?? 1);
  });
}
