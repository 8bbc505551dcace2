// Builds the NATS server that the tests run, of the version and with the checksums that tools/nats-server pins, into the user's cache, and
// prints its path. It reuses an existing build.
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { natsServerPath, natsVersionOf, natsVersionPinned } from '../test/support/nats-binary.ts';

if (natsVersionOf(natsServerPath) !== natsVersionPinned) {
  mkdirSync(dirname(natsServerPath), { recursive: true });
  const temporary = `${natsServerPath}.${process.pid}`;
  const flags = ['-mod=readonly', '-o', temporary];
  execFileSync('go', ['build', ...flags, 'github.com/nats-io/nats-server/v2'], {
    cwd: join(import.meta.dirname, 'nats-server'),
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const version = natsVersionOf(temporary);
  if (version !== natsVersionPinned) throw new Error(`built ${version}, not ${natsVersionPinned}`);
  renameSync(temporary, natsServerPath);
}
console.log(natsServerPath);
