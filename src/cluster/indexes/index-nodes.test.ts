import assert from 'node:assert/strict';
import { test } from 'node:test';
import { advanceUntilDone } from '../../../test/support/advance-clock.ts';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { IndexNodes } from './index-nodes.ts';

/** The index services as node a sees them: b answers, and c does not. */
function aCluster() {
  const asked: string[] = [];
  const down = new Set<string>();
  const indexes = { services: ['index'] };
  const nodes = [nodeNamed('a', indexes), nodeNamed('b', indexes), nodeNamed('c', indexes)];
  const peers = {
    answer: () => {},
    ask: async (to: string, name: string) => {
      asked.push(to);
      if (to === 'c') throw new Error('it does not answer');
      return name === 'indexesReady' ? true : [{ id: 'i', state: 'online', progress: 100 }];
    },
  };
  const indexNodes = new IndexNodes({
    view: { cluster: { nodes } } as never,
    nodeId: 'a',
    peers: peers as never,
    indexes: {} as never,
    indexAdmin: {} as never,
    isDown: (id) => down.has(id),
    clock: new ManualClock(),
  });
  return { asked, down, indexNodes };
}

test('nodes that send no heartbeats are asked neither for new indexes nor for the states of all', async () => {
  const { asked, down, indexNodes } = aCluster();
  await indexNodes.readyOnOtherNodes(['i']);
  assert.deepEqual(asked.splice(0), ['b', 'c']);
  down.add('c');
  await indexNodes.readyOnOtherNodes(['i']);
  const known = await indexNodes.onOtherNodes();
  assert.deepEqual(asked, ['b', 'b']);
  assert.deepEqual(
    known.get('i')?.map(({ node }) => node.uuid),
    ['b'],
  );
});

test('a dropped index is gone when the nodes that are reached know it, at most two seconds later', async () => {
  const clock = new ManualClock();
  const services = { services: ['index'] };
  const nodes = [nodeNamed('a', services), nodeNamed('b', services), nodeNamed('c', services)];
  const known = new Set(['i', 'other']);
  const listeners = new Set<() => void>();
  let answer: (question: never) => Promise<boolean> = async () => false;
  const indexNodes = new IndexNodes({
    view: { cluster: { nodes } } as never,
    nodeId: 'a',
    peers: {
      answer: (name: string, given: typeof answer) => {
        if (name === 'indexesGone') answer = given;
      },
      ask: async (to: string, _name: string, question: never) => {
        if (to === 'c') throw new Error('it does not answer');
        return await answer(question);
      },
    } as never,
    indexes: {
      all: () => [...known].map((id) => ({ definition: { id } })),
      onChange: (listener: () => void) => {
        listeners.add(listener);
        return { stop: () => listeners.delete(listener) };
      },
    } as never,
    indexAdmin: {} as never,
    isDown: () => false,
    clock,
  });
  let isGone = false;
  const gone = indexNodes.goneFromOtherNodes(['i']).then(() => {
    isGone = true;
  });
  await new Promise(setImmediate);
  assert.equal(isGone, false);
  known.delete('i');
  for (const listener of listeners) listener();
  await gone;
  const startedMs = clock.monotonicMs();
  await advanceUntilDone(clock, indexNodes.goneFromOtherNodes(['other']));
  assert.ok(clock.monotonicMs() - startedMs <= 2_100);
});

test('a node that does not know an index is asked about it once, since the index was dropped', async () => {
  const clock = new ManualClock();
  const services = { services: ['index'] };
  let answer: (question: never) => Promise<boolean> = async () => false;
  let requests = 0;
  const unchanging = { onChange: () => ({ stop: () => {} }) };
  const indexNodes = new IndexNodes({
    view: { cluster: { nodes: [nodeNamed('a', services), nodeNamed('b', services)] } } as never,
    nodeId: 'a',
    peers: {
      answer: (name: string, given: typeof answer) => {
        if (name === 'indexesReady') answer = given;
      },
      ask: async (_to: string, _name: string, question: never) => {
        requests++;
        return await answer(question);
      },
    } as never,
    indexes: { ...unchanging, all: () => [] } as never,
    indexAdmin: { ...unchanging, reports: () => [] } as never,
    isDown: () => false,
    clock,
  });
  await advanceUntilDone(clock, indexNodes.readyOnOtherNodes(['dropped']));
  assert.equal(requests, 1);
});
