import assert from 'node:assert/strict';
import { test } from 'node:test';
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
