import assert from 'node:assert/strict';
import { test } from 'node:test';
import { problemsOf } from '../http/problems.ts';
import {
  accessOf,
  CreateDatabaseUser,
  UpdateDatabaseUser,
  V3CreateClusterUser,
} from './database-users.contract.ts';

test('the schema accepts each role of an entry once, and as many entries as a node gives roles', () => {
  const entry = (...bucketAccess: string[]) => ({ bucketName: 'b', bucketAccess });
  const reader = entry('data_reader');
  for (const { body } of [CreateDatabaseUser, UpdateDatabaseUser, V3CreateClusterUser]) {
    const problemIn = (buckets: readonly object[]): string => {
      const sent = { username: 'u', password: 'p', buckets };
      const { error } = body.safeParse(sent);
      return error === undefined ? '' : problemsOf(error.issues, sent, 'field');
    };
    assert.equal(problemIn([reader, entry('data_reader', 'data_writer')]), '');
    assert.equal(
      problemIn([reader, entry('data_reader', 'data_reader')]),
      'buckets.1.bucketAccess: must name each role once',
    );
    assert.equal(problemIn(Array.from({ length: 1_000 }, () => reader)), '');
    assert.equal(
      problemIn(Array.from({ length: 1_001 }, () => reader)),
      'buckets: must have at most 1000 entries',
    );
  }
});

test('the roles of all entries of a request for one bucket, or one scope of it, become one entry', () => {
  const v3 = (name: string, scope: string, access: 'data_reader' | 'data_writer') => ({
    name,
    scope,
    access,
  });
  const access = accessOf({
    allBucketsAccess: 'data_reader',
    buckets: [
      v3('b', '*', 'data_reader'),
      v3('b', 's', 'data_writer'),
      { bucketName: 'b', bucketAccess: ['data_writer', 'data_reader'] },
      v3('b', 's', 'data_writer'),
      { bucketName: '*', bucketAccess: ['data_writer'] },
    ],
  });
  assert.deepEqual(access, [
    { bucketName: '*', bucketAccess: ['data_reader', 'data_writer'] },
    { bucketName: 'b', bucketAccess: ['data_reader', 'data_writer'] },
    { bucketName: 'b', scope: 's', bucketAccess: ['data_writer'] },
  ]);
});
