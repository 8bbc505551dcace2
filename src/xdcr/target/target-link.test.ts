import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { DataPathSettings, TargetAccess } from '../xdcr.contract.ts';
import type { OutgoingVersion } from './outgoing.ts';
import { TargetLink } from './target-link.ts';
import type { TargetMap } from './target-map.ts';

test('only a version that waits for a newer map ends the link when no node answers with one', async () => {
  const failures: string[] = [];
  const maps: Promise<TargetMap>[] = [
    Promise.resolve({ bucketUuid: 'b', hosts: [], nodes: [], actives: [-1] }),
  ];
  const link = await TargetLink.open({
    access: {} as TargetAccess,
    settings: { networkUsageLimit: 0, targetNozzlePerNode: 1 } as DataPathSettings,
    clock: new ManualClock(),
    senders: 1,
    readMap: () => maps.pop() ?? Promise.reject(new Error('no node answers')),
    counts: { add: () => {} },
    failed: ({ message }: Error) => failures.push(message),
  } as unknown as Parameters<typeof TargetLink.open>[0]);
  assert.equal((await link.positions([0])).size, 0);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(failures, []);
  link.send({ vb: 0, attempts: 0 } as OutgoingVersion);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(failures, ['no node answers']);
  link.close();
});
