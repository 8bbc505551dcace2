import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OwnQueryNode } from '#query/query.contract.ts';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import type { NodeState } from '../config/cluster-state.ts';
import { QueryNodes } from './query-nodes.ts';

/** Nodes a, b and c; c does not run the query service. They are connected by function calls. */
function aCluster() {
  const clock = new ManualClock();
  const answers = new Map<string, Map<string, (body: never) => unknown>>();
  const node = (uuid: string, mgmt: number, services: string[]) =>
    ({ uuid, hostname: null, services, ports: { mgmt } }) as unknown as NodeState;
  const activeNodes = [node('a', 1, ['kv', 'n1ql']), node('b', 2, ['n1ql']), node('c', 3, ['kv'])];
  const silent = new Set<string>();
  const down = new Set<string>();
  const isDown = (nodeId: string) => down.has(nodeId);
  const join = (nodeId: string, own: Partial<OwnQueryNode> = {}) => {
    const answered = new Map<string, (body: never) => unknown>();
    answers.set(nodeId, answered);
    const peers = {
      answer: (name: string, answer: (body: never) => unknown) => void answered.set(name, answer),
      ask: async (to: string, name: string, body: unknown): Promise<never> => {
        if (silent.has(to)) throw new Error(`${to} does not answer`);
        return (await answers.get(to)?.get(name)?.(body as never)) as never;
      },
    };
    const nodes = new QueryNodes({ view: { activeNodes }, nodeId, peers: peers as never, isDown, clock });
    const noRows = { rows: [], next: null };
    nodes.serve({
      rows: async () => noRows,
      prepared: async () => null,
      discardPrepared: async () => {},
      remove: async () => {},
      caughtUp: async () => {},
      ...own,
    });
    return nodes;
  };
  return { clock, silent, down, join };
}

class Definitions {
  revision = 0;
  knownOnOtherNodes: (revision: number) => Promise<void> = async () => {};
  private readonly listeners = new Set<() => void>();

  onChange(listener: () => void) {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }

  receive(revision: number): void {
    this.revision = revision;
    for (const listener of [...this.listeners]) listener();
  }
}

test('rows come from every other node with the query service, or the reason why not', async () => {
  const { silent, join } = aCluster();
  const removed: unknown[] = [];
  const a = join('a');
  join('b', {
    rows: async (keyspace, after) => ({ rows: [{ id: keyspace, value: after }], next: after ?? 'more' }),
    remove: async (...call) => void removed.push(call),
  });
  join('c', { rows: () => assert.fail('c does not run the service') });
  const rows = [{ id: 'prepareds', value: null }];
  const page = { node: '127.0.0.1:2', rows, next: 'more' };
  assert.deepEqual(await a.rows('prepareds'), { nodes: [page], failed: [] });
  const second = await a.rowsAfter('prepareds', '127.0.0.1:2', 'x');
  assert.deepEqual(second, { rows: [{ id: 'prepareds', value: 'x' }], next: 'x' });
  await a.remove('prepareds', '127.0.0.1:2', ['p']);
  assert.deepEqual(removed, [['prepareds', ['p']]]);
  await assert.rejects(a.remove('prepareds', '127.0.0.1:3', ['p']), /does not run the query service/);
  silent.add('b');
  const failed = [{ node: '127.0.0.1:2', reason: 'b does not answer' }];
  assert.deepEqual(await a.rows('prepareds'), { nodes: [], failed });
  assert.deepEqual(
    a.all().map(({ name, isThis }) => [name, isThis]),
    [
      ['127.0.0.1:1', true],
      ['127.0.0.1:2', false],
      ['127.0.0.1:3', false],
    ],
  );
});

test('a changed definition is known when the service of every other node uses it', async () => {
  const { clock, silent, join } = aCluster();
  const steps: string[] = [];
  const [ofA, ofB] = [new Definitions(), new Definitions()];
  join('a').follow('functions', ofA);
  join('b', { caughtUp: async () => void steps.push('caught up') }).follow('functions', ofB);
  const known = ofA.knownOnOtherNodes(7).then(() => steps.push('known'));
  ofB.receive(6);
  await clock.advance(10);
  assert.deepEqual(steps, []);
  ofB.receive(7);
  await known;
  assert.deepEqual(steps, ['caught up', 'known']);
  await ofA.knownOnOtherNodes(7);

  const late = ofA.knownOnOtherNodes(8);
  await clock.advance(2_000);
  await late;
  silent.add('b');
  await ofA.knownOnOtherNodes(9);
});

test('a node without heartbeats is not waited for', async () => {
  const { down, join } = aCluster();
  const definitions = new Definitions();
  const a = join('a');
  a.follow('functions', definitions);
  join('b', { rows: () => new Promise(() => {}) }).follow('functions', new Definitions());
  down.add('b');
  await definitions.knownOnOtherNodes(7);
  const failed = [{ node: '127.0.0.1:2', reason: 'it sends no heartbeats' }];
  assert.deepEqual(await a.rows('prepareds'), { nodes: [], failed });
});

test('a prepared statement is found on any other node', async () => {
  const { silent, join } = aCluster();
  const a = join('a');
  const discarded: string[] = [];
  const found = { text: 'PREPARE p FROM SELECT 1', statement: 'SELECT 1' };
  join('b', {
    prepared: async (name, queryContext) => (name === 'p' && queryContext === 'b.s' ? found : null),
    discardPrepared: async ({ statement }) => void discarded.push(statement),
  });
  assert.deepEqual(await a.prepared('p', 'b.s'), found);
  assert.equal(await a.prepared('p', ''), null);
  const replaced = { name: 'p', queryContext: '', statement: 'SELECT 2' };
  await a.discardPrepared(replaced);
  assert.deepEqual(discarded, ['SELECT 2']);
  silent.add('b');
  await a.discardPrepared(replaced);
  assert.equal(await a.prepared('p', 'b.s'), null);
});
