import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Log } from '#ports/log.ts';
import { silentLog } from '#ports/log.ts';
import { figures, memoryCluster } from '../../../test/support/cluster.ts';
import { BucketsStore, withBucket } from '../buckets/buckets.store.ts';
import {
  type BucketMap,
  type ClusterAutoCompaction,
  mapKey,
  type StoredBucket,
} from '../config/cluster-state.ts';
import type { CompactionRequest, MeasuredBucket } from '../config/data-service.ts';
import { SettingsStore } from '../config/settings.store.ts';
import { AutoCompactor, checkEveryMs } from './auto-compactor.ts';
import { localTimeOfDay } from './compaction-decision.ts';
import { compactionDefaults, compactionSetting } from './settings.ts';

const mib = 1024 * 1024;
const dayMs = 86_400_000;
const midnight = Date.parse('2026-03-10T00:00:00Z');
const inUtc = (wallMs: number) => ({
  hour: new Date(wallMs).getUTCHours(),
  minute: new Date(wallMs).getUTCMinutes(),
});

const aBucket = (name: string, changes: Partial<StoredBucket> = {}): StoredBucket => ({
  name,
  uuid: `uuid-${name}`,
  incarnation: 0,
  state: 'ready',
  vocabulary: 'neutral',
  type: 'native',
  ramQuotaMb: 100,
  replicaNumber: 0,
  replicaIndex: false,
  evictionPolicy: 'valueOnly',
  durabilityMinLevel: 'none',
  threadsNumber: 3,
  compressionMode: 'passive',
  maxTtlSeconds: 0,
  conflictResolutionType: 'seqno',
  driftAheadThresholdMs: 5000,
  driftBehindThresholdMs: 5000,
  flushEnabled: false,
  autoCompaction: null,
  purgeIntervalDays: null,
  ...changes,
});

const fragmented = (freeMb = 40): Partial<MeasuredBucket> => ({
  dataBytes: (100 - freeMb) * mib,
  freeDiskBytes: freeMb * mib,
});

/** A scheduler over buckets whose figures a test sets; a compaction runs until the test ends it. */
async function scheduled(buckets: StoredBucket[], timeOfDay = inUtc) {
  const { store, view, data, clock } = await memoryCluster();
  const bucketsStore = new BucketsStore(store);
  for (const bucket of buckets) await bucketsStore.change((state) => withBucket(state, bucket));
  for (const { uuid } of buckets) data.figures.set(uuid, figures(fragmented()));
  const calls: string[] = [];
  const requests: CompactionRequest[] = [];
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (event, fields) => void warnings.push([event, fields]) };
  const change = (uuid: string, changes: Partial<MeasuredBucket>) =>
    data.figures.set(uuid, { ...(data.figures.get(uuid) as MeasuredBucket), ...changes });
  const kv = {
    refresh: async () => {},
    measured: (uuid: string) => data.measured(uuid),
    compact: async (uuid: string, request: CompactionRequest) => {
      calls.push(`compact ${uuid}`);
      requests.push(request);
      change(uuid, { compaction: { origin: request.origin, done: 0, total: 1 } });
    },
    cancelCompaction: async (uuid: string, origin: string) => {
      calls.push(`cancel ${uuid} ${origin}`);
      change(uuid, { compaction: null });
    },
  };
  clock.advance(midnight - clock.wallMs());
  const compactor = new AutoCompactor({ view, data: kv, clock, timeOfDay, log });
  compactor.start();
  const settings = new SettingsStore(store);
  /** Advances the clock, check by check. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= checkEveryMs.busy) {
      clock.advance(Math.min(left, checkEveryMs.busy));
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return {
    calls,
    requests,
    warnings,
    compactor,
    clock,
    pass,
    change,
    /** Ends the compaction with these figures of the files. */
    end: (uuid: string, freeMb: number) => change(uuid, { ...fragmented(freeMb), compaction: null }),
    nodeId: view.self.uuid,
    setMap: async (uuid: string, map: BucketMap) => {
      const entry = await store.get(mapKey(uuid));
      await store.put(mapKey(uuid), map, entry?.revision ?? 0);
    },
    set: (changes: Partial<ClusterAutoCompaction>) =>
      settings.change(compactionSetting, compactionDefaults, changes),
    changeBucket: (uuid: string, changes: Partial<StoredBucket>) =>
      bucketsStore.changeBucket(uuid, (bucket) => ({ ...bucket, ...changes })),
    /** Advances the clock to this time of the first day. */
    async reach(hour: number, minute = 0) {
      const left = midnight + (hour * 60 + minute) * 60_000 - clock.wallMs();
      clock.advance(Math.max(0, left - 2 * checkEveryMs.idle));
      await pass(2 * checkEveryMs.idle);
    },
  };
}

const night = { fromHour: 2, fromMinute: 0, toHour: 4, toMinute: 30, abortOutside: true };

describe('auto-compaction', () => {
  it('starts if a compaction would release enough space, and only then', async () => {
    const { calls, pass, change } = await scheduled([aBucket('a')]);
    change('uuid-a', fragmented(29));
    await pass(60_000);
    assert.deepEqual(calls, []);
    change('uuid-a', fragmented(30));
    await pass(checkEveryMs.idle);
    assert.deepEqual(calls, ['compact uuid-a']);
    await pass(600_000);
    assert.equal(calls.length, 1, 'a running compaction is not started again');
  });

  it('starts no compaction while a rebalance moves shards away from the node', async () => {
    const { calls, pass, setMap, nodeId } = await scheduled([aBucket('a')]);
    const nodes = [nodeId, 'other'];
    const forward = { plan: 'p', chains: [[0], [1]] };
    await setMap('uuid-a', {
      nodes,
      shards: [0, 0].map((active) => ({ epoch: 1, chain: [active] })),
      forward,
    });
    await pass(60_000);
    assert.deepEqual(calls, []);
    await setMap('uuid-a', {
      nodes,
      shards: [0, 1].map((active) => ({ epoch: 1, chain: [active] })),
      forward,
    });
    await pass(checkEveryMs.idle);
    assert.deepEqual(calls, ['compact uuid-a']);
  });

  it('waits at most ten minutes for a rebalance that moves shards away', async () => {
    const { calls, pass, setMap, nodeId } = await scheduled([aBucket('a')]);
    const forward = { plan: 'p', chains: [[1]] };
    await setMap('uuid-a', { nodes: [nodeId, 'other'], shards: [{ epoch: 1, chain: [0] }], forward });
    await pass(600_000);
    assert.deepEqual(calls, []);
    await pass(20_000);
    assert.deepEqual(calls, ['compact uuid-a']);
  });

  it("uses thresholds in megabytes and a bucket's own settings", async () => {
    const { calls, pass, set, changeBucket } = await scheduled([aBucket('a')]);
    await set({ databaseFragmentationThreshold: { percentage: null, sizeMb: 41 } });
    await pass(30_000);
    assert.deepEqual(calls, []);
    const {
      indexCircularCompaction: _,
      purgeIntervalDays: __,
      indexFragmentationThreshold: ___,
      ...common
    } = compactionDefaults;
    const threshold = { percentage: null, sizeMb: 40 };
    await changeBucket('uuid-a', {
      autoCompaction: { ...common, databaseFragmentationThreshold: threshold },
    });
    await pass(30_000);
    assert.deepEqual(calls, ['compact uuid-a']);
  });

  it('starts only within its period, and is cancelled at the end of the period', async () => {
    const { calls, reach, set } = await scheduled([aBucket('a')]);
    await set({ allowedTimePeriod: night });
    await reach(1, 59);
    assert.deepEqual(calls, []);
    await reach(2, 1);
    assert.deepEqual(calls, ['compact uuid-a']);
    await reach(4, 29);
    assert.equal(calls.length, 1);
    await reach(4, 31);
    assert.deepEqual(calls.slice(1), ['cancel uuid-a automatic']);
    await reach(23, 59);
    assert.equal(calls.length, 2);
    await reach(26, 1);
    assert.deepEqual(
      calls.slice(2),
      ['compact uuid-a'],
      'the compaction does not start again in the next night',
    );
  });

  it('continues after its period unless the settings cancel it', async () => {
    const { calls, reach, set } = await scheduled([aBucket('a')]);
    await set({ allowedTimePeriod: { ...night, abortOutside: false } });
    await reach(2, 1);
    await reach(12);
    assert.deepEqual(calls, ['compact uuid-a']);
  });

  it('never cancels a requested compaction', async () => {
    const { calls, reach, set, change } = await scheduled([aBucket('a')]);
    await set({ allowedTimePeriod: night });
    change('uuid-a', { compaction: { origin: 'bucket', done: 0, total: 1 } });
    await reach(12);
    assert.deepEqual(calls, []);
  });

  it('compacts one bucket at a time, or several if allowed in parallel', async () => {
    const { calls, pass, end } = await scheduled([aBucket('a'), aBucket('b')]);
    await pass(60_000);
    assert.deepEqual(calls, ['compact uuid-a']);
    end('uuid-a', 0);
    await pass(2 * checkEveryMs.idle);
    assert.deepEqual(calls, ['compact uuid-a', 'compact uuid-b']);
    const both = await scheduled([aBucket('a'), aBucket('b')]);
    await both.set({ parallelDBAndViewCompaction: true });
    await both.pass(checkEveryMs.idle);
    assert.deepEqual(both.calls, ['compact uuid-a', 'compact uuid-b']);
  });

  it('waits for a requested compaction', async () => {
    const { calls, pass, change } = await scheduled([aBucket('a'), aBucket('b')]);
    change('uuid-b', { compaction: { origin: 'bucket', done: 0, total: 1 } });
    await pass(60_000);
    assert.deepEqual(calls, []);
  });

  it('retries with growing pauses if no space was released, and at once after new settings', async () => {
    const { calls, pass, end, set, warnings } = await scheduled([aBucket('a')]);
    const failAfter = async (ms: number) => {
      await pass(ms);
      end('uuid-a', 40);
    };
    await failAfter(checkEveryMs.idle);
    await failAfter(90_000);
    assert.equal(calls.length, 2);
    await pass(100_000);
    assert.equal(calls.length, 2, 'the second pause is longer');
    await failAfter(60_000);
    assert.equal(calls.length, 3);
    assert.deepEqual(warnings[0], ['auto_compaction.still_due', { bucket: 'a', retryMs: 60_000 }]);
    await set({ databaseFragmentationThreshold: { percentage: 20, sizeMb: null } });
    await pass(2 * checkEveryMs.idle);
    assert.equal(calls.length, 4);
    const before = calls.length;
    for (let minute = 0; minute < 40; minute++) await failAfter(60_000);
    assert.equal(calls.length - before, 5, 'attempts in forty minutes');
  });

  it('purges tombstones by the current purge interval', async () => {
    const { requests, pass, end, set, clock, changeBucket } = await scheduled([aBucket('a')]);
    await pass(checkEveryMs.idle);
    const secondsAgo = (
      { purgeBeforeSeconds }: CompactionRequest = { purgeBeforeSeconds: 0, origin: 'automatic' },
    ) => Math.round((clock.wallMs() / 1000 - (purgeBeforeSeconds as number)) / 100) * 100;
    assert.deepEqual([secondsAgo(requests[0]), requests[0]?.origin], [3 * 86_400, 'automatic']);
    await set({ purgeIntervalDays: 7 });
    end('uuid-a', 0);
    await pass(checkEveryMs.idle);
    end('uuid-a', 40);
    await pass(checkEveryMs.idle);
    assert.equal(secondsAgo(requests[1]), 7 * 86_400);
    await changeBucket('uuid-a', { purgeIntervalDays: 0.5 });
    end('uuid-a', 0);
    await pass(checkEveryMs.idle);
    end('uuid-a', 40);
    await pass(checkEveryMs.idle);
    assert.equal(secondsAgo(requests[2]), 43_200);
  });

  it('purges tombstones of ephemeral buckets, not of caches', async () => {
    const ephemeral = aBucket('e', { type: 'ephemeral', purgeIntervalDays: 120_000 / dayMs });
    const { calls, pass, change } = await scheduled([ephemeral, aBucket('c', { type: 'cache' })]);
    change('uuid-e', { dataBytes: 0, freeDiskBytes: 0 });
    await pass(60_000);
    assert.deepEqual(calls, []);
    await pass(30_000);
    assert.deepEqual(calls, ['compact uuid-e']);
  });

  it('skips a bucket that warms up, and checks nothing after it was stopped', async () => {
    const { calls, pass, change, compactor, clock } = await scheduled([aBucket('a'), aBucket('b')]);
    await pass(checkEveryMs.idle);
    change('uuid-a', { state: 'warmup', compaction: null });
    await pass(checkEveryMs.idle);
    assert.deepEqual(calls, ['compact uuid-a', 'compact uuid-b']);
    compactor.stop();
    assert.equal(clock.pending, 0);
  });
});

describe('the time of day', () => {
  it('is local time, also when daylight saving time begins or ends', (t) => {
    const before = process.env['TZ'];
    t.after(() => {
      if (before === undefined) delete process.env['TZ'];
      else process.env['TZ'] = before;
    });
    process.env['TZ'] = 'Europe/Berlin';
    const localTime = (instant: string) => {
      const { hour, minute } = localTimeOfDay(Date.parse(instant));
      return `${hour}:${minute}`;
    };
    assert.deepEqual([localTime('2026-03-29T00:59:00Z'), localTime('2026-03-29T01:00:00Z')], ['1:59', '3:0']);
    const bothHours = [localTime('2026-10-25T00:30:00Z'), localTime('2026-10-25T01:30:00Z')];
    assert.deepEqual(bothHours, ['2:30', '2:30']);
  });
});
