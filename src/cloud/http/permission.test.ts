import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aClusterRow } from '../../../test/support/cluster-row.ts';
import { Caller } from '../access/caller.ts';
import { defineOperation } from './operation.ts';
import { requireSubject } from './permission.ts';

const operation = (method: 'GET' | 'DELETE') =>
  defineOperation({
    id: 'clusters/test',
    method,
    path: '/v3/clusters/{id}',
    doc: 'For the test.',
    access: 'token',
    subject: 'cluster',
    replies: { 204: { doc: 'Done' } },
  });

test('the cloud answers a token of one project for objects of other projects exactly as for unknown ones', () => {
  for (const role of ['projectViewer', 'projectOwner'] as const)
    for (const method of ['GET', 'DELETE'] as const) {
      const caller = new Caller({ tokenId: 't', role, projectId: 'mine', expiresAt: null });
      for (const subject of [undefined, aClusterRow({ project_id: 'other' })])
        assert.throws(() => requireSubject(operation(method), caller, 'cluster c', subject), {
          errorType: 'AccessForbidden',
          message: 'this token has no role for cluster c',
        });
    }
});

test('the refusal of a change tells a token that may only read the project which role the change needs', () => {
  const caller = new Caller({ tokenId: 't', role: 'projectViewer', projectId: 'p', expiresAt: null });
  assert.throws(
    () => requireSubject(operation('DELETE'), caller, 'cluster c', aClusterRow()),
    /projectOwner of project p; this token has projectViewer$/,
  );
});
