// Signals at any time: a starting process stops cleanly on SIGTERM, and SIGHUP stops none.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { endAfterTests } from '../support/left-running.ts';
import { eventuallyWithin, launcher, NodeProcess, portFlags, printedBy } from '../support/node-process.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-signals-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const credentials = ['--username', 'Administrator', '--password', 'password'];
const commands: Record<string, { args: string[]; signalAfter: string[] }> = {
  node: {
    args: ['node', ...portFlags, ...credentials, '--bucket', 'b'],
    signalAfter: ['lock.pid', 'config.db', 'certificates', 'first-start.pending', 'buckets'],
  },
  cloud: { args: ['cloud', '--port', '0'], signalAfter: ['cloud.db', 'lock.pid', 'folder.id'] },
  up: {
    args: ['up', ...portFlags, '--cloud-port', '0'],
    // Until the cloud starts beside it, the node starts as it does alone.
    signalAfter: ['lock.pid', 'cloud', 'cloud/cloud.db'],
  },
};

const startTimeoutMs = 120_000;
let folders = 0;

for (const [name, { args, signalAfter }] of Object.entries(commands)) {
  test(`divan ${name} stops cleanly and silently on a signal during its start, and starts again`, async () => {
    for (const [index, file] of signalAfter.entries()) {
      const folder = join(scratch, String(++folders));
      const { child, printed, ended } = start([...args, '--data-dir', folder]);
      // Some files exist only in one kind of start: then the signal follows after the start.
      await soonAfter(() => existsSync(join(folder, file)) || /is ready/.test(printed.text));
      child.kill(index % 2 === 0 ? 'SIGTERM' : 'SIGINT');
      assert.deepEqual(await ended, [0, null], `${file}: ${printed.text}`);
      assert.doesNotMatch(printed.text, /\n {4}at |divan: |"level":50/, file);
      const again = start([...args, '--data-dir', folder]);
      await eventuallyWithin(startTimeoutMs, () => assert.match(again.printed.text, /is ready/));
      again.child.kill('SIGTERM');
      assert.deepEqual(await again.ended, [0, null], again.printed.text);
    }
  });
}

test('the node ignores SIGHUP, which a terminal sends when it is closed', async () => {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'] });
  process.kill(node.pid, 'SIGHUP');
  assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
  process.kill(node.pid, 'SIGHUP');
  assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
  assert.equal(await node.stop('SIGTERM'), 0);
});

test('a starting cloud stops silently when its parent ends', async () => {
  const folder = join(scratch, 'orphan');
  const child = spawn(process.execPath, [launcher, 'cloud', '--port', '0', '--data-dir', folder], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  endAfterTests(child);
  const printed = printedBy(child);
  const ended = once(child, 'exit');
  await soonAfter(() => existsSync(join(folder, 'cloud.db')));
  child.disconnect();
  child.stdout?.destroy();
  assert.deepEqual(await ended, [0, null], printed.text);
  assert.doesNotMatch(printed.text, /Error|EPIPE|ERR_IPC/);
});

/** Looks often: the start continues meanwhile, and the signal has to interrupt what follows directly. */
async function soonAfter(happens: () => boolean): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  while (!happens()) {
    assert.ok(performance.now() < deadline, 'the process neither wrote the file nor became ready');
    await pause(5);
  }
}

function start(args: string[]) {
  const child = spawn(process.execPath, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  endAfterTests(child);
  return { child, printed: printedBy(child), ended: once(child, 'exit') };
}
