// When a promoted process may confirm.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { ShardSpec } from '../admin.ts';
import { confirmation } from './confirmation.ts';
import { ContinuedBoots } from './continued-boots.ts';
import { PeerConnections } from './peers.ts';

const self = { node: 'b', boot: 'b 2' };
const promoted: ShardSpec = {
  state: 'active',
  epoch: 2,
  replicas: ['a'],
  active: 'b',
  inSync: [{ node: 'a', boot: 'a 1' }, self],
};

/** Whether a process confirms `waitMs` after its start, while a promise of an earlier process may be valid for ten seconds. */
function confirms(
  change: {
    spec?: Partial<ShardSpec>;
    countsBoots?: boolean;
    followsEarlierProcess?: boolean;
    isDropping?: boolean;
    /** The boots that this process continues. */
    continues?: readonly string[];
  },
  waitMs = 5_000,
): boolean {
  const clock = new ManualClock();
  const promisedUntilMs = clock.monotonicMs() + 10_000;
  clock.advance(waitMs);
  const peers = new PeerConnections({
    self,
    clock,
    log: silentLog,
    connect: () => new Promise(() => {}),
    events: { connected() {}, disconnected() {}, arrived() {}, received() {}, hasRoom() {} },
  });
  const { continues = [], countsBoots = true, followsEarlierProcess = true, isDropping = false } = change;
  const drops = { isDropping: () => isDropping };
  const earlier = {
    countsBoots: () => countsBoots,
    needsPromise: () => true,
    servesUntilMs: () => -Infinity,
  };
  const spec = { ...promoted, ...change.spec };
  const boots = new ContinuedBoots({ uuid: 'b', own: continues, peers });
  const parts = {
    shard: 0,
    epoch: 2,
    self,
    clock,
    boots,
    promisedUntilMs,
    drops,
    earlier,
    followsEarlierProcess,
  };
  const changes = confirmation(spec, parts);
  peers.close();
  return changes.some(({ kind }) => kind === 'confirm');
}

it('a promoted process waits for a promise of an earlier process only where an active may still count on it', () => {
  assert.equal(
    confirms({}),
    true,
    'the earlier active put this process into the set, and counts its promises only',
  );
  const waiting = {
    'the earlier active is of a version that counts promises by node': { countsBoots: false },
    'this process made the engine of the bucket again, and does not know what the one before promised': {
      followsEarlierProcess: false,
    },
    'it was promoted alone by an unsafe failover': { spec: { inSync: [self] } },
  };
  for (const [reason, change] of Object.entries(waiting)) {
    assert.equal(confirms(change), false, reason);
    assert.equal(confirms(change, 10_000), true, reason);
  }
  assert.equal(
    confirms({ spec: { stopped: 1 }, countsBoots: false }),
    true,
    'the earlier active has stopped',
  );
});

it('a promoted process waits until the vbuckets that it removes are removed', () => {
  assert.equal(confirms({ isDropping: true }, 60_000), false);
});

it('a process that continues the active of the epoch confirms at once, and a process that was promoted waits for the promises to the earlier active', () => {
  const continues = ['b 1', 'b 0'];
  for (const boot of continues) {
    const inSync = [
      { node: 'a', boot: 'a 1' },
      { node: 'b', boot },
    ];
    const wasActive = { spec: { inSync, confirmed: 'b 1' }, continues };
    assert.equal(confirms(wasActive), true);
    assert.equal(
      confirms({ ...wasActive, continues: [] }),
      false,
      'confirmed although the process has only what was on disk',
    );
    assert.equal(
      confirms({ spec: { inSync }, continues }),
      false,
      'confirmed although the earlier active may count on the promises',
    );
    assert.equal(confirms({ spec: { inSync }, continues }, 10_000), true);
  }
});
