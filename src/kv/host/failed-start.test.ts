// What other nodes learn of a bucket that does not start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BucketFiles } from '#kv/data/disk-engine.ts';
import { MemoryDisk } from '#kv/disk/memory-engine.ts';
import { Now } from '#kv/vbucket/now.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { aBucket } from '../../../test/support/data-service.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import type { Replication } from '../replication/replication.ts';
import { BucketHost } from './bucket-host.ts';

/** Changes no file: each still has the boot id of the process that stopped cleanly, and a later process can continue that one. */
const openDamaged = ({ folder }: BucketFiles) =>
  Promise.resolve({ opened: [], damaged: [{ file: 0, path: folder, reason: 'disk I/O error' }] });
const broken = () => Promise.reject(new Error('the disk does not answer'));

for (const [failing, said] of [
  ['load', [[]]],
  ['open', []],
  ['open any file', []],
] as const)
  test(`a bucket that fails to ${failing} ${said.length > 0 ? 'tells other nodes that this process continues no earlier one' : 'tells other nodes nothing, since a later process may continue the earlier one'}`, async () => {
    const boots: (readonly string[])[] = [];
    let warmed = 0;
    const replication = {
      boot: 'boot',
      failed: (_: string, own: readonly string[]) => boots.push(own),
      // A warming bucket tells other nodes that this process continues no earlier one.
      warm: () => ({ follow: () => warmed++ }),
      remove() {},
    };
    const host = new BucketHost(aBucket('b', { type: 'native' }), {
      clock: new SimulatedClock(),
      random: realRandom,
      log: silentLog,
      now: new Now(),
      disk: Object.assign(
        new MemoryDisk().engine(),
        failing === 'open any file' ? { open: openDamaged } : { [failing]: broken },
      ),
      folder: 'folder',
      replication: () => replication as unknown as Replication,
    });
    await host.start();
    assert.deepEqual(boots, said);
    assert.equal(warmed > 0, said.length > 0);
    assert.equal(host.report().state, 'failed');
  });
