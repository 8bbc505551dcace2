// Reports of a data service without load, for fake data services.
import { type BucketReport, type KvReport, noCounts, noTraffic } from '#kv/admin.ts';
import { DurationHistogram } from '../../src/base/duration-histogram.ts';

const noDurations = () => new DurationHistogram().figures();

const none = { vbuckets: 0, items: 0 };
const allVbuckets = { vbuckets: 1024, items: 0 };

export const aBucketReport = (changes: Partial<BucketReport>): BucketReport => ({
  name: 'b',
  uuid: 'u',
  incarnation: 0,
  state: 'ready',
  damaged: [],
  writeFailure: null,
  items: 0,
  memUsed: 0,
  dataBytes: 0,
  diskBytes: 0,
  dirtyItems: 0,
  ops: 0,
  nonResident: 0,
  diskFetches: 0,
  evictions: 0,
  expired: 0,
  freeDiskBytes: 0,
  collectionItems: {},
  compaction: null,
  warmUp: null,
  vbuckets: { active: allVbuckets, replica: none, pending: none },
  ...noCounts(),
  activity: {
    tombstones: 0,
    queued: 0,
    memoryRefusals: 0,
    failedCommits: 0,
    drift: { active: noDrift(), replica: noDrift() },
    dirtyBytes: 0,
    memory: { items: 0, meta: 0, overhead: 0 },
    collections: {},
    streams: {},
    compression: { visited: 0, compressed: 0 },
    commit: noDurations(),
    fetchWait: noDurations(),
    fetch: noDurations(),
  },
  ...changes,
});

export const aKvReport = (changes: Partial<KvReport> = {}): KvReport => ({
  buckets: [],
  connections: 0,
  traffic: noTraffic(),
  ...changes,
});

const noDrift = () => ({ us: 0, writes: 0, ahead: 0, behind: 0 });
