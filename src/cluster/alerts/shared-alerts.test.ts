import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeNamed } from '../../../test/support/cluster.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { AlertList } from './alert-list.ts';
import { SharedAlerts } from './shared-alerts.ts';

function threeNodes() {
  const activeNodes = ['a', 'b', 'c'].map((id) => nodeNamed(id));
  const answers = new Map<string, (body: never, from: string) => unknown>();
  const lists = new Map<string, AlertList>();
  const shared = ['a', 'b', 'c'].map((nodeId) => {
    const list = new AlertList(new ManualClock());
    lists.set(nodeId, list);
    const peers = {
      answer: (name: string, answer: (body: never, from: string) => unknown) =>
        void answers.set(`${nodeId} ${name}`, answer),
      ask: async (to: string, name: string, body: unknown) => {
        if (to === 'c') throw new Error('it does not answer');
        return answers.get(`${to} ${name}`)?.(body as never, nodeId) as never;
      },
    };
    return new SharedAlerts({ view: { activeNodes }, nodeId, peers: peers as never, list });
  });
  return { lists, shared };
}

const alert = { key: 'disk /', kind: 'disk', text: 'almost full' } as const;

test('every active node lists an alert, each node as a cause of its own', () => {
  const { lists, shared } = threeNodes();
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

test('an alert that is acknowledged on one node leaves the lists of all', () => {
  const { lists, shared } = threeNodes();
  for (const node of shared) node.send(alert);
  const [a, b] = [lists.get('a') as AlertList, lists.get('b') as AlertList];
  a.note(alert.key, alert.kind, 'own');
  b.note('disk /x', alert.kind, 'seen by b only');
  a.note('b disk /y', alert.kind, 'of b');
  b.note('disk /y', alert.kind, 'own');
  shared[0]?.silence('another');
  assert.equal(a.all().length, 4);
  shared[0]?.silence(a.token);
  assert.deepEqual(a.all(), []);
  assert.deepEqual(
    b.all().map(({ text }) => text),
    ['seen by b only'],
  );
});
