// CREATE INDEX and ALTER INDEX: which numbers of replicas and which names of nodes are accepted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IndexChange, IndexDefinition, NewIndex } from '#index/index.contract.ts';
import type { NodeState } from '../config/cluster-state.ts';
import { indexPlacementOf, placementAfter } from './index-placement.ts';

const aNode = (host: string | null, services: string[] | null, more: Partial<NodeState> = {}): NodeState =>
  ({
    uuid: String(host),
    hostname: host,
    services,
    membership: 'active',
    ports: { mgmt: 8091, mgmtSSL: 18091 },
    alternate: null,
    ...more,
  }) as NodeState;
const all = ['kv', 'index', 'n1ql'];
const alone = [aNode(null, null)];
const three = [
  aNode('a.example', all, { alternate: { hostname: 'out.example', ports: { mgmt: 30001 } } }),
  aNode('b.example', all),
  aNode('c.example', all),
  aNode('d.example', ['kv', 'n1ql']),
  aNode('e.example', all, { membership: 'inactiveFailed' }),
];

test('an index may have as many replicas as there are other nodes with the index service', () => {
  const of = (wanted: Partial<NewIndex>, nodes: NodeState[], byDefault = 0) =>
    indexPlacementOf(wanted as NewIndex, nodes, byDefault);
  for (const [wanted, nodes, byDefault, replicas] of [
    [{}, alone, 0, 0],
    [{ replicas: 0 }, alone, 3, 0],
    [{ nodes: ['localhost:8091'] }, alone, 0, 0],
    [{ replicas: 2 }, three, 0, 2],
    [{}, three, 1, 1],
    [{ replicas: 0 }, three, 1, 0],
    [{ nodes: ['B.example:8091', 'c.example:18091'] }, three, 0, 1],
    [{ nodes: ['out.example:30001'], replicas: 0 }, three, 2, 0],
    [{ nodes: ['a.example:8091', 'b.example:8091', 'c.example:8091'], partition: {} }, three, 0, 0],
  ] as [Partial<NewIndex>, NodeState[], number, number][])
    assert.deepEqual([wanted, of(wanted, nodes, byDefault)], [wanted, { replicas }]);
  for (const [wanted, nodes, byDefault, reason] of [
    [{ replicas: 1 }, alone, 0, /not enough indexer nodes .* replica count of 1\./],
    [{}, alone, 1, /not enough indexer nodes/],
    [{ replicas: 3 }, three, 0, /not enough indexer nodes .* replica count of 3\./],
    [{ nodes: ['localhost:8092'] }, alone, 0, /Node localhost:8092 does not exist/],
    [{ nodes: ['a.example:8091', 'd.example:8091'] }, three, 0, /Node d\.example:8091 does not exist/],
    [{ nodes: ['e.example:8091'] }, three, 0, /Node e\.example:8091 does not exist/],
    [{ nodes: ['a.example'] }, three, 0, /Node a\.example does not exist/],
    [{ nodes: ['a.example:8091', 'a.example:18091'] }, three, 0, /a\.example:18091 twice/],
    [{ nodes: ['a.example:8091'], replicas: 1 }, three, 0, /num_replica should be one less than .* nodes/],
  ] as [Partial<NewIndex>, NodeState[], number, RegExp][]) {
    const placement = of(wanted, nodes, byDefault);
    assert.match('refused' in placement ? placement.refused : 'accepted', reason);
  }
});

test('ALTER INDEX changes the number of replicas within the same limits', () => {
  const after = (replicas: number, change: IndexChange, nodes = three) =>
    placementAfter({ replicas } as IndexDefinition, change, nodes);
  const move = (...nodes: string[]) => ({ action: 'move', nodes });
  for (const [before, change, replicas] of [
    [0, { action: 'replica_count', replicas: 2 }, 2],
    [2, { action: 'replica_count', replicas: 0 }, 0],
    [2, { action: 'drop_replica', replicaId: 2 }, 1],
    [0, move('c.example:8091'), 0],
    [1, move('c.example:8091', 'b.example:8091'), 1],
  ] as [number, IndexChange, number][])
    assert.deepEqual([change, after(before, change)], [change, { replicas }]);
  for (const [before, change, reason] of [
    [0, { action: 'replica_count' }, /num_replica/],
    [0, { action: 'replica_count', replicas: 3 }, /not enough indexer nodes/],
    [0, { action: 'drop_replica', replicaId: 0 }, /no replica/],
    [1, { action: 'drop_replica' }, /replicaId/],
    [1, { action: 'drop_replica', replicaId: 2 }, /from 0 to 1/],
    [0, { action: 'move' }, /name of a node/],
    [1, move('c.example:8091'), /names of 2 nodes/],
    [0, move('x.example:8091'), /x\.example:8091/],
    [0, { action: 'copy' }, /move, replica_count, drop_replica.*"copy"/],
  ] as [number, IndexChange, RegExp][]) {
    const placement = after(before, change);
    assert.match('refused' in placement ? placement.refused : 'accepted', reason);
  }
  assert.match(JSON.stringify(after(0, move('x:8091'), alone)), /only one indexer node/);
});
