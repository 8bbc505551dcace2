// A founder that leaves hands the configuration over, also if the next founder fails meanwhile.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '#ports/log.ts';
import { MemoryConfigStore } from '#replog/memory-config-store.ts';
import type { StoreContent } from '#replog/mirror/config-link.ts';
import { SimulatedClock } from '../../../test/support/simulated-clock.ts';
import { type ClusterState, clusterKey, type NodeState } from '../config/cluster-state.ts';
import { unknownPorts } from '../first-configuration.ts';
import type { FounderTransfer } from '../joining/join-messages.ts';
import { FounderHandover } from './founder-handover.ts';

const aNode = (uuid: string, membership: NodeState['membership'] = 'active'): NodeState => ({
  uuid,
  otpNode: `ns_1@${uuid}`,
  hostname: uuid,
  membership,
  services: ['kv'],
  ports: unknownPorts,
  paths: { data: '/', index: '/', analytics: [], eventing: '/', javaHome: '' },
  alternate: null,
});

type Answer = (name: string, body: unknown) => unknown;

/** Node `a` is the founder. Notes what node `self` does, in order; `next` answers the others' requests, after `answerMs`. */
async function aFounder(others: readonly NodeState[], next: Answer, { self = 'a', answerMs = 10 } = {}) {
  const clock = new SimulatedClock();
  const store = new MemoryConfigStore();
  const cluster: ClusterState = {
    uuid: 'c',
    name: '',
    nodes: [aNode('a'), ...others],
    founder: 'a',
    quotas: { indexMemoryQuota: 0, ftsMemoryQuota: 0, cbasMemoryQuota: 0, eventingMemoryQuota: 0 },
  };
  await store.put(clusterKey, cluster, 0);
  const founder = { id: 'a' };
  const done: string[] = [];
  const note = async (what: string): Promise<void> => void done.push(what);
  const founderTransfer: FounderTransfer = {
    mirror: null,
    async pause() {
      done.push('pause');
      const record = { key: clusterKey, json: JSON.stringify(cluster), revision: 1, writes: null };
      return { revision: 1, records: [record] };
    },
    resume: () => void done.push('resume'),
    handOver: ({ founder }, epoch) => note(`follow ${founder.nodeId} in ${epoch}`),
    takeOver: () => assert.fail('the founder was asked to take over the configuration that it has'),
    follow: () => assert.fail(),
    stepDown: () => assert.fail(),
  };
  const handover = new FounderHandover({
    clock,
    store,
    founderTransfer,
    log: silentLog,
    identity: { nodeId: self, bootId: 'boot' },
    view: {
      revisionEpoch: 1,
      get cluster() {
        return { ...cluster, founder: founder.id };
      },
    },
    joinParametersFor: (founder) => ({
      clusterUuid: 'c',
      clusterKey: '',
      founder,
      credentials: { ca: '', cert: '', key: '' },
    }),
    change: { announce: () => {}, head: { identity: 'c', revision: 1 }, isBusy: false, isHandingOver: false },
    stopServing: () => note('stop serving'),
    peers: {
      answer: () => {},
      async ask<Value>(to: string, name: string, body: unknown, timeoutMs: number) {
        done.push(`${name} ${to}`);
        await clock.sleep(Math.min(answerMs, timeoutMs));
        if (answerMs > timeoutMs) throw new Error('no answer');
        return (await next(name, body)) as Value;
      },
    },
  });
  const before = () => clock.until(handover.prepareDeparture([aNode('a')]));
  const epoch = async () => (await store.get<ClusterState>(clusterKey))?.value.revEpoch;
  return { before, done, epoch, clock, founder };
}

const loseConnection = (): never => {
  throw new Error('the connection was lost');
};

describe('a founder that leaves', () => {
  it('makes no change until an active node has all of the configuration, and follows that node', async () => {
    let received: StoreContent | null = null;
    const { before, done } = await aFounder([aNode('b', 'inactiveAdded'), aNode('c')], (_, body) => {
      received = body as StoreContent;
    });
    await before();
    assert.deepEqual(done, ['pause', 'founder/take c', 'stop serving', 'follow c in 2', 'resume']);
    const { revision, records } = received as unknown as StoreContent;
    const state = JSON.parse(records[0]?.json ?? '') as ClusterState;
    assert.deepEqual([revision, state.founder, state.revEpoch], [2, 'c', 2]);
  });

  it('stays the founder where the next one refuses, and where there is none', async () => {
    const { before, done } = await aFounder([aNode('b')], (name) =>
      name === 'founder/taken' ? 1 : loseConnection(),
    );
    await assert.rejects(before(), /ns_1@a stores the configuration and could not hand it over/);
    assert.deepEqual(done.slice(-1), ['resume']);
    assert.ok(!done.includes('stop serving'));
    const alone = await aFounder([aNode('b', 'inactiveFailed')], loseConnection);
    await assert.rejects(alone.before(), /there is no other node that could/);
  });

  it('asks again where the answer was lost, before anything is changed', async () => {
    let questions = 0;
    const { before, done } = await aFounder([aNode('b')], (name) => {
      if (name === 'founder/take') return loseConnection();
      // Node b is still writing the configuration at first.
      return ++questions < 4 ? null : 2;
    });
    await before();
    assert.deepEqual(done.slice(-3), ['stop serving', 'follow b in 2', 'resume']);
  });

  it('stays the founder in a later epoch where the next one is lost and may have taken it', async () => {
    const { before, epoch, clock } = await aFounder([aNode('b')], loseConnection);
    const beganMs = clock.monotonicMs();
    await assert.rejects(before(), /could not hand it over/);
    assert.ok(clock.monotonicMs() - beganMs < 31_000);
    assert.equal(await epoch(), 3);
  });
});

describe('a node that requests the handover from the founder', () => {
  const founderAnswers = { self: 'b', answerMs: 61_000 };

  it('waits as long as the founder may take for it', async () => {
    const { before, done } = await aFounder([aNode('b')], () => null, founderAnswers);
    await before();
    assert.deepEqual(done, ['founder/hand-over a']);
  });

  it('continues where the answer was lost and another node is the founder by then', async () => {
    const setup = await aFounder([aNode('b')], () => (setup.founder.id = 'b') && loseConnection(), {
      self: 'b',
    });
    await setup.before();
    const stayed = await aFounder([aNode('b')], loseConnection, { self: 'b' });
    await assert.rejects(stayed.before(), /could not hand it over: the connection was lost/);
  });
});
