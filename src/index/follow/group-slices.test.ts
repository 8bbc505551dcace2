// Groups share a thread: one whose keys take long to evaluate lets the others process their changes between its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { startService } from '../../../test/support/data-service.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { storing } from '../../../test/support/storing.ts';
import { addressOf, adminAccount, bucketClient } from '../../../test/support/wire-clients.ts';
import type { FollowedIndex } from './followed-index.ts';
import { IndexGroup } from './index-group.ts';

/** An index without a file; `changed` is called for each change, instead of evaluating keys. */
function anIndex(changed: () => void) {
  const nothing = (): void => {};
  return {
    collectionId: 0,
    hasChanges: false,
    isBuilt: true,
    needsTarget: false,
    isCommitDue: false,
    uncommitted: 0,
    seqno: () => 0,
    positionOf: () => ({ uuid: 0n, seqno: 0, snapshotStart: 0, snapshotEnd: 0 }),
    isWithin: () => true,
    opened: () => false,
    snapshot: nothing,
    move: nothing,
    stage: nothing,
    publish: nothing,
    markUnconfirmed: nothing,
    change: changed,
  } as unknown as FollowedIndex;
}

test('a group whose keys take long processes one document in a turn of the event loop, and a fast one many', async () => {
  await using service = await startService();
  const client = await bucketClient(service.port);
  const count = 200;
  const documents = Array.from({ length: count }, (_, at) => storing(`k${at}`));
  await client.storeMany(0, documents);
  let turn = 0;
  let isOver = false;
  const countTurns = (): void => {
    turn++;
    if (!isOver) setImmediate(countTurns);
  };
  countTurns();
  const groups = [0, 20].map((changeMs, at) => {
    let busyMs = 0;
    const turns: number[] = [];
    const index = anIndex(() => {
      busyMs += changeMs;
      turns.push(turn);
    });
    const clock = { ...realClock, monotonicMs: () => busyMs };
    const group = new IndexGroup({
      address: addressOf(service.port),
      account: adminAccount,
      bucket: 'b',
      routes: null,
      name: `group ${at}`,
      indexes: [index],
      clock,
      log: silentLog,
      changed: () => {},
      broken: () => {},
    });
    group.start();
    return { group, turns };
  });
  await eventually(() =>
    assert.deepEqual(
      groups.map(({ turns }) => turns.length),
      [count, count],
    ),
  );
  isOver = true;
  const most = groups.map(({ turns }) =>
    Math.max(...[...Map.groupBy(turns, (at) => at).values()].map(({ length }) => length)),
  );
  assert.ok((most[0] as number) > 1, 'changes come together');
  assert.equal(most[1], 1);
  for (const { group } of groups) await group.stop();
  client.close();
});
