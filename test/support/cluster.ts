// A one-node cluster in memory: configuration store, view and a fake data service.
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import {
  bucketsKey,
  type ClusterState,
  clusterKey,
  type NodeState,
  noBuckets,
} from '../../src/cluster/config/cluster-state.ts';
import { ClusterView } from '../../src/cluster/config/cluster-view.ts';
import type { DataService, MeasuredBucket } from '../../src/cluster/config/data-service.ts';
import { ownVersion } from '../../src/cluster/config/node-versions.ts';
import { ManualClock } from './manual-clock.ts';

/** The identity of the node in tests. */
export const ownNodeId = 'feedfeedfeedfeedfeedfeedfeedfeed';

export const aCluster = (changes: Partial<ClusterState> = {}): ClusterState => ({
  uuid: '0123456789abcdef0123456789abcdef',
  name: '',
  quotas: { indexMemoryQuota: 512, ftsMemoryQuota: 512, cbasMemoryQuota: 1024, eventingMemoryQuota: 256 },
  nodes: [
    {
      uuid: ownNodeId,
      otpNode: 'ns_1@cb.local',
      hostname: null,
      membership: 'active',
      services: ['kv'],
      ports: {
        mgmt: 8091,
        mgmtSSL: 18091,
        kv: 11210,
        kvSSL: 11207,
        capi: 8092,
        capiSSL: 18092,
        distTCP: 21100,
        distTLS: 21150,
      },
      paths: { data: '/data', index: '/data', analytics: [], eventing: '/data', javaHome: '' },
      alternate: null,
      version: ownVersion,
    },
  ],
  ...changes,
});

/** An active node with the data service, whose id is also its address. */
export const nodeNamed = (id: string, changes: Partial<NodeState> = {}): NodeState => ({
  ...(aCluster().nodes[0] as NodeState),
  uuid: id,
  otpNode: `ns_1@${id}`,
  hostname: id,
  ...changes,
});

/** Reports the figures that a test sets, and applies every change at once unless a test sets otherwise. */
export class FakeDataService implements DataService {
  readonly figures = new Map<string, MeasuredBucket>();
  hasApplied = true;
  /** What `randomKey` returns. */
  key: string | null = null;

  async applied(): Promise<boolean> {
    return this.hasApplied;
  }
  async caughtUp(): Promise<boolean> {
    return this.hasApplied;
  }
  async refresh(): Promise<void> {}
  measured(uuid: string): MeasuredBucket | null {
    return this.figures.get(uuid) ?? null;
  }
  connections(): number {
    return 0;
  }
  async metrics() {
    return [];
  }
  async randomKey(): Promise<string | null> {
    return this.key;
  }
  async compact(): Promise<void> {}
  async cancelCompaction(): Promise<void> {}
  onChange() {
    return { stop: () => {} };
  }
}

export const figures = (changes: Partial<MeasuredBucket> = {}): MeasuredBucket => ({
  state: 'ready',
  problems: [],
  warmUp: null,
  items: 0,
  memUsedBytes: 0,
  dataBytes: 0,
  diskBytes: 0,
  freeDiskBytes: 0,
  fragmentationPercent: 0,
  metaBytes: 0,
  memoryRefusals: 0,
  failedCommits: 0,
  writesAheadOfClock: 0,
  compaction: null,
  dirtyItems: 0,
  nonResident: 0,
  collectionItems: {},
  rates: { ops: 0, gets: 0, getHits: 0, diskFetches: 0 },
  ...changes,
});

export async function memoryCluster(memoryQuotaMb = 1024, cluster: ClusterState = aCluster()) {
  const store = new MemoryConfigStore();
  await store.put(clusterKey, cluster, 0);
  await store.put(bucketsKey, noBuckets(memoryQuotaMb), 0);
  const view = new ClusterView(store, cluster.nodes[0]?.uuid ?? '');
  await view.start();
  const nodeFigures = { known: () => ({ figures: null, problem: null }) };
  return {
    store,
    view,
    nodeFigures,
    data: new FakeDataService(),
    clock: new ManualClock(),
    random: realRandom,
  };
}
