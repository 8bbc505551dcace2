// The folders of a node.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { indexPlaceOf, movedPaths } from './node-paths.ts';

const paths = { data: '/old', index: '/old', analytics: ['/old', '/a'], eventing: '/e', javaHome: '/java' };

it('folders that were the data folder move with it, others stay', () => {
  const moved = { data: '/new', index: '/new', analytics: ['/new', '/a'], eventing: '/e', javaHome: '/java' };
  assert.deepEqual(movedPaths(paths, '/new'), moved);
});

it('index files have a place of their own only if a folder is set for them', () => {
  assert.equal(indexPlaceOf({ uuid: 'u', paths }), null);
  assert.equal(indexPlaceOf({ uuid: 'u', paths: { ...paths, index: '/fast' } }), '/fast/divan-index-u');
});
