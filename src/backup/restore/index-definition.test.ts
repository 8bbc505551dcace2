import assert from 'node:assert/strict';
import { test } from 'node:test';
import { indexKeyspace, withReplicas } from './index-definition.ts';

test('withReplicas changes the number of replicas of a definition, and nothing else', () => {
  const index = 'CREATE INDEX `i` ON `b`(`a`) WHERE (`x` = " WITH {\\"num_replica\\":1}")';
  assert.equal(withReplicas(index, null), index);
  assert.equal(withReplicas(`${index} WITH {"num_replica":2}`, null), index);
  assert.equal(withReplicas(`${index} WITH {"num_replica":2}`, 0), `${index} WITH {"num_replica":0}`);
  assert.equal(withReplicas(index, 0), `${index} WITH {"num_replica":0}`);
  assert.equal(withReplicas('CREATE INDEX i ON b(a) WITH {x}', 0), 'CREATE INDEX i ON b(a) WITH {x}');
  const deferred = `${index} WITH {"defer_build":true,"num_replica":2,"num_partition":8}`;
  assert.equal(withReplicas(deferred, null), `${index} WITH {"defer_build":true,"num_partition":8}`);
});

test('indexKeyspace finds the keyspace of a definition, and null for a definition of another form', () => {
  const keyspaceOf = (definition: string) => indexKeyspace({ name: 'i', definition });
  const items = { scope: 'shop', collection: 'items' };
  assert.deepEqual(
    keyspaceOf('CREATE INDEX `a`` ON ``b` ON `b.c`.`shop`.`items`(`x` DESC) WHERE (`y` = 1)'),
    items,
  );
  assert.deepEqual(keyspaceOf('CREATE PRIMARY INDEX `#primary` ON `b`'), {
    scope: '_default',
    collection: '_default',
  });
  assert.equal(keyspaceOf('CREATE INDEX i ON b(x)'), null);
  assert.deepEqual(indexKeyspace({ name: 'i', definition: '', ...items }), items);
});
