import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Log, silentLog } from '#ports/log.ts';
import { aCluster, FakeDataService, memoryCluster } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import type { CompactionRequest } from '../config/data-service.ts';
import type { Peers } from '../peers/peers.ts';
import { everyNode } from './every-node.ts';

const request: CompactionRequest = { purgeBeforeSeconds: 'all', origin: 'bucket' };

/** Two nodes with documents and one without; `answer` returns the answers of the other nodes. */
async function threeNodes(
  answer: (node: string, name: string) => unknown,
  membership: NodeState['membership'] = 'active',
) {
  const [node] = aCluster().nodes as [NodeState];
  const self = { ...node, membership };
  const named = (uuid: string, membership: NodeState['membership']): NodeState => ({
    ...self,
    uuid,
    otpNode: `ns_1@${uuid}`,
    membership,
  });
  const nodes = [self, named('b', 'active'), named('c', 'inactiveAdded')];
  const { view } = await memoryCluster(300, aCluster({ nodes }));
  const calls: string[] = [];
  const peers = {
    ask: async (node: string, name: string) => {
      calls.push(`${node} ${name}`);
      return answer(node, name);
    },
  } as unknown as Peers;
  const data = new FakeDataService();
  const logged: object[] = [];
  const warn = (event: string, fields?: object) => void logged.push({ event, ...fields });
  const log = { ...silentLog, warn } as Log;
  const clock = new ManualClock();
  const silence = { ms: 0 };
  const silentMs = () => silence.ms;
  const all = everyNode({ view, nodeId: self.uuid, data, peers, silentMs, clock, log });
  return { all, data, calls, logged, clock, silence };
}

describe('the data services of all nodes', () => {
  it('have applied a revision once every node with documents has applied it', async () => {
    for (const [answer, isApplied] of [
      [true, true],
      [false, false],
    ]) {
      const { all, calls } = await threeNodes(() => answer);
      assert.equal(await all.applied(7, 100), isApplied);
      assert.deepEqual(calls, ['b applied']);
    }
    const lost = await threeNodes(() => Promise.reject(new Error('lost')));
    assert.equal(await lost.all.applied(7, 100), false);
    const { all, data } = await threeNodes(() => true);
    data.hasApplied = false;
    assert.equal(await all.applied(7, 100), false);
  });

  it('are not waited for on a node that sends no heartbeats, as one that hangs', async () => {
    const { all, clock, silence } = await threeNodes(() => new Promise(() => {}));
    let isOver = false;
    const applied = all.applied(7, 10_000).finally(() => {
      isOver = true;
    });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    for (; silence.ms < 4_500; silence.ms += 500) {
      await turn();
      clock.advance(500);
    }
    await turn();
    assert.equal(isOver, false, 'a node that was silent for less than 5 s may be slow');
    silence.ms = 5_000;
    clock.advance(500);
    assert.equal(await applied, false);
    assert.equal(await all.applied(8, 10_000), false, 'the silence was known before');
    const answers = await threeNodes(() => true);
    assert.equal(await answers.all.applied(7, 10_000), true);
    await turn();
    assert.equal(answers.clock.pending, 0, 'no timer is left after the answer');
  });

  it('are waited for if their heartbeats have arrived but were not read yet, as after a pause of this process', async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { all, silence } = await threeNodes(() => promise);
    silence.ms = 5_000;
    const applied = all.applied(7, 10_000);
    setImmediate(() => {
      silence.ms = 0;
      setImmediate(() => setImmediate(resolve, true));
    });
    assert.equal(await applied, true);
  });

  it('compact on each of them that answers, and log the others', async () => {
    const { all, calls } = await threeNodes(() => null);
    await all.compact('uuid', request);
    await all.cancelCompaction('uuid', 'bucket');
    assert.deepEqual(calls, ['b compact', 'b cancelCompaction']);
    const fails = () => Promise.reject(new Error('lost'));
    const lost = await threeNodes(fails);
    await lost.all.compact('uuid', request);
    assert.deepEqual(lost.logged, [
      { event: 'compaction.node_left_out', node: 'ns_1@b', request: 'compact', reason: 'lost' },
    ]);
    const outside = await threeNodes(fails, 'inactiveFailed');
    await assert.rejects(
      outside.all.compact('uuid', request),
      /Node ns_1@b of the cluster did not execute "compact": lost/,
    );
  });

  it('find a random key on another node when this one has none', async () => {
    const { all, data } = await threeNodes(() => 'theirs');
    assert.equal(await all.randomKey('b'), 'theirs');
    data.key = 'own';
    assert.equal(await all.randomKey('b'), 'own');
  });
});
