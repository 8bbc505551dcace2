import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { ManualClock } from '../../../../test/support/manual-clock.ts';
import { eventually } from '../../../../test/support/node-process.ts';
import type { NodeSpec } from '../provisioner.ts';
import { launch, readyFile } from './launch.host.ts';
import { LocalProvisioner } from './local-provisioner.host.ts';
import { NodeProcess } from './process.host.ts';
import { writeRecord } from './process-record.host.ts';

const spec = {
  id: 'n1',
  clusterId: 'c1',
  address: '127.0.0.1',
  ports: {},
  memoryMb: 256,
  services: ['data'],
  administrator: { username: 'a', password: 'secret' },
} as unknown as NodeSpec;

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'divan-node-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const children = (): string => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');

test('a started process ends if its record cannot be written to the node folder', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const folder = aFolder(t);
  // A folder in the place of the file.
  mkdirSync(join(folder, 'process.json.tmp'));
  const before = children();
  assert.throws(() => launch({ spec, folder, operatorAddress: undefined }), /EISDIR/);
  await eventually(() => assert.equal(children(), before));
});

test('a node is still watched while its log can be neither copied nor truncated', async (t) => {
  const folder = aFolder(t);
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  t.after(() => child.kill());
  writeRecord(folder, child.pid as number);
  writeFileSync(readyFile(folder), '{}');
  // Above 1 MiB the log is copied and truncated.
  writeFileSync(join(folder, 'node.log'), Buffer.alloc((1 << 20) + 1));
  mkdirSync(join(folder, 'node.log.1'));
  const [clock, warnings] = [new ManualClock(), [] as string[]];
  const log = { ...silentLog, warn: (event: string) => void warnings.push(event) };
  const node = new NodeProcess({ spec, folder, home: 'this cloud', operatorAddress: undefined, clock, log });
  await node.start();
  clock.advance(10_000);
  assert.deepEqual(warnings, ['node.log_not_truncated']);
  rmSync(join(folder, 'node.log.1'), { recursive: true });
  clock.advance(1_000);
  assert.equal(readFileSync(join(folder, 'node.log')).length, 0);
  assert.ok(readdirSync(folder).includes('node.log.1'));
  child.kill();
  await eventually(() => {
    clock.advance(1_000);
    assert.match(node.downReason ?? '', /is gone/);
  });
  await node.stop('SIGKILL');
});

test('a file among the folders of the nodes is no node', async (t) => {
  const folder = aFolder(t);
  writeFileSync(join(folder, '.DS_Store'), '');
  const ports = { clock: new ManualClock(), random: realRandom, log: silentLog };
  const provisioner = new LocalProvisioner({
    ...ports,
    folder,
    home: 'this cloud',
    operatorAddress: undefined,
  });
  assert.deepEqual(await provisioner.existingNodes(), []);
  await provisioner.close();
});

test('a provisioner that is closed starts no further node', async (t) => {
  const folder = aFolder(t);
  mkdirSync(join(folder, 'n1'));
  const ports = { clock: new ManualClock(), random: realRandom, log: silentLog };
  const provisioner = new LocalProvisioner({
    ...ports,
    folder,
    home: 'this cloud',
    operatorAddress: undefined,
  });
  await provisioner.close();
  await assert.rejects(provisioner.resume(spec), /the cloud stops/);
  await assert.rejects(provisioner.start(spec, new AbortController().signal), /the cloud stops/);
  assert.deepEqual(readdirSync(join(folder, 'n1')), []);
});
