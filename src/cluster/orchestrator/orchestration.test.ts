import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import { aCluster, nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { clusterKey } from '../config/cluster-state.ts';
import { ClusterView } from '../config/cluster-view.ts';
import { Orchestration, type OrchestrationDeps } from './orchestration.ts';

/** The orchestration of node `nodeId`, and the events that it records. */
async function anOrchestration(store: MemoryConfigStore, nodeId: string, more: Partial<OrchestrationDeps>) {
  const view = new ClusterView(store, nodeId);
  await view.start();
  const recorded: string[] = [];
  const orchestration = new Orchestration({
    store,
    view,
    clock: new ManualClock(),
    log: silentLog,
    random: realRandom,
    identity: { nodeId, bootId: 'first' },
    peers: { ask: () => Promise.reject(new Error('it does not answer')), answer: () => {} },
    events: { record: (name: string) => recorded.push(name) } as unknown as OrchestrationDeps['events'],
    alerts: { raise: () => {} } as unknown as OrchestrationDeps['alerts'],
    data: { measured: () => null, shardPositions: () => Promise.resolve([]) },
    founderChange: { head: {}, noticeFor: () => null, noticed: () => {} },
    ...more,
  });
  return { orchestration, recorded };
}

test("the founder's new port is stored with a later heartbeat if it could not be stored at first", async (t) => {
  const store = new MemoryConfigStore();
  const nodes = ['a', 'b'].map((name) => nodeNamed(name));
  await store.put(clusterKey, { ...aCluster({ nodes }), founder: 'a' }, 0);
  let isFull = true;
  const stored: number[] = [];
  const founderMoved = (port: number): void => {
    if (isFull) throw new Error('no space left on the disk');
    stored.push(port);
  };
  let heartbeat = (_: unknown, __: string): unknown => null;
  const { orchestration } = await anOrchestration(store, 'b', {
    peers: {
      ask: () => Promise.reject(new Error('it does not answer')),
      answer: (name, answer) => {
        if (name === 'heartbeat') heartbeat = answer as typeof heartbeat;
      },
    },
    membership: { founderMoved },
  });
  t.after(() => orchestration.stop());
  const receive = () => heartbeat({ hears: ['a', 'b'], founderPort: 21_150 }, 'a');
  assert.throws(receive, /no space left/);
  isFull = false;
  for (let n = 0; n < 3; n++) receive();
  assert.deepEqual(stored, [21_150]);
});
