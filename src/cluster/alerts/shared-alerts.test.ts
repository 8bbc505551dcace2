import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { AlertList } from './alert-list.ts';
import { SharedAlerts } from './shared-alerts.ts';

test('every active node lists an alert, each node as a cause of its own', () => {
  const activeNodes = ['a', 'b', 'c'].map((id) => nodeNamed(id));
  const answers = new Map<string, (body: never, from: string) => unknown>();
  const lists = new Map<string, AlertList>();
  const shared = ['a', 'b', 'c'].map((nodeId) => {
    const list = new AlertList(new ManualClock());
    lists.set(nodeId, list);
    const peers = {
      answer: (_: string, answer: (body: never, from: string) => unknown) => void answers.set(nodeId, answer),
      ask: async (to: string, _: string, body: unknown) => {
        if (to === 'c') throw new Error('it does not answer');
        return answers.get(to)?.(body as never, nodeId) as never;
      },
    };
    return new SharedAlerts({ view: { activeNodes }, nodeId, peers: peers as never, list });
  });
  const alert = { key: 'disk /', kind: 'disk', text: 'almost full' } as const;
  for (const node of shared) node.send(alert);
  const textsOf = (nodeId: string) =>
    lists
      .get(nodeId)
      ?.all()
      .map(({ text }) => text);
  assert.deepEqual(textsOf('a'), ['almost full', 'almost full']);
  assert.deepEqual(textsOf('b'), ['almost full', 'almost full']);
  assert.deepEqual(textsOf('c'), []);
  shared[1]?.send(alert);
  assert.equal(lists.get('a')?.all().length, 2);
});
