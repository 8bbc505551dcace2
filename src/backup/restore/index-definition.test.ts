import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withReplicas } from './index-definition.ts';

test('changes the number of replicas of a definition, and nothing else', () => {
  const index = 'CREATE INDEX `i` ON `b`(`a`) WHERE (`x` = " WITH {\\"num_replica\\":1}")';
  assert.equal(withReplicas(index, null), index);
  assert.equal(withReplicas(`${index} WITH {"num_replica":2}`, null), index);
  assert.equal(withReplicas(`${index} WITH {"num_replica":2}`, 0), `${index} WITH {"num_replica":0}`);
  assert.equal(withReplicas(index, 0), `${index} WITH {"num_replica":0}`);
  assert.equal(withReplicas('CREATE INDEX i ON b(a) WITH {x}', 0), 'CREATE INDEX i ON b(a) WITH {x}');
  const deferred = `${index} WITH {"defer_build":true,"num_replica":2,"num_partition":8}`;
  assert.equal(withReplicas(deferred, null), `${index} WITH {"defer_build":true,"num_partition":8}`);
});
