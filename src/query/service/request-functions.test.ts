import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFunction } from './request-functions.ts';

const node = {
  name: 'n:8091',
  host: 'n:8091',
  version: '7.1.0-0.1.0-enterprise',
  datastoreUrl: '',
  nodes: [],
};

test('functions of a request return the version, the node and its users, and SEARCH() is refused', () => {
  const answer = (name: string) => requestFunction(name, node, ['local:a']);
  assert.equal(answer('ds_version'), '7.1.0-0.1.0-enterprise');
  assert.equal(answer('version'), '7.1.0-N1QL');
  assert.equal(answer('node_name'), 'n:8091');
  assert.deepEqual(answer('current_users'), ['local:a']);
  assert.throws(() => answer('search'), /^SqlError: Not Implemented SEARCH\(\): /);
});
