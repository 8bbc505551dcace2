// Run by npm after an install in a checkout: starts a node once, so that the compiled form of its code is in the cache and the
// first real start is as fast and small as the others. What fails here fails nothing; plain JavaScript, for older Nodes run it too.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const launcher = fileURLToPath(new URL('../bin/divan.js', import.meta.url));
const dataDir = mkdtempSync(join(tmpdir(), 'divan-warm-'));
const ports = ['rest', 'rest-tls', 'kv', 'kv-tls', 'capi', 'capi-tls', 'dist', 'dist-tls'];
const args = ['node', '--data-dir', dataDir, '--bucket', 'b', '--username', 'a', '--password', 'warm-up'];
const child = spawn(
  process.execPath,
  [launcher, ...args, ...ports.flatMap((name) => [`--${name}-port`, '0'])],
  {
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: 30_000,
  },
);
child.on('error', () => {});
child.stdout.once('data', () => child.kill('SIGTERM'));
child.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
