// Run by npm after an install in a checkout: starts a node and the cloud once, so that the compiled form of their code is in the
// cache and the first real start is as fast and small as the others. A failure here fails no install. Plain JavaScript, since older
// Nodes run it too. The script is `postprepare` in package.json, since npm warns users who install the package about a `prepare`.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const launcher = fileURLToPath(new URL('../bin/divan.js', import.meta.url));
const dataDir = mkdtempSync(join(tmpdir(), 'divan-warm-'));
/** Flags of all ports that have a fixed number by default: another node may run on this machine. */
const portFlags = ['rest', 'kv', 'capi', 'dist', 'query', 'index', 'backup']
  .flatMap((name) => [`${name}-port`, `${name}-tls-port`])
  .concat('replication-port', 'cloud-port')
  .flatMap((flag) => [`--${flag}`, '0']);
const readyFile = join(dataDir, 'ready.json');
const args = ['up', '--data-dir', dataDir, '--ready-file', readyFile, '--bucket', 'b'];
const child = spawn(process.execPath, [launcher, ...args, ...portFlags], {
  stdio: 'ignore',
  timeout: 30_000,
});
const look = setInterval(() => {
  if (existsSync(readyFile)) child.kill('SIGTERM');
}, 50);
const end = () => {
  clearInterval(look);
  rmSync(dataDir, { recursive: true, force: true });
};
child.on('error', end);
child.once('exit', end);
