import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aNodeWithTarget,
  replicationId as id,
  reference,
  referencesPath,
  replication,
} from '../../../test/support/xdcr-manager.ts';

test('applying the expression to deletions or expirations requires the filter that leaves these out, and an expression that reads only keys', async () => {
  const { post, request } = await aNodeWithTarget();
  await post(referencesPath, reference);
  for (const [name, base] of [
    ['filterDeletionsWithExpression', 'filterDeletion'],
    ['filterExpirationsWithExpression', 'filterExpiration'],
  ] as const) {
    const create = (form: Record<string, string>) =>
      post('/controller/createReplication', { ...replication, ...form, [name]: 'true' });
    const key = 'REGEXP_CONTAINS(META().id, "^k")';
    for (const [form, problem] of [
      [{ filterExpression: key }, `${base}=true is required for this setting`],
      [{ [base]: 'true' }, 'filterExpression is required for this setting'],
      ...['a = 1', 'META().expiration = 0 OR META().id = "k"', 'META().xattrs.a = 1'].map(
        (filterExpression) =>
          [
            { [base]: 'true', filterExpression },
            'filterExpression must read nothing but META().id for this setting',
          ] as const,
      ),
    ] as const) {
      const refused = await create(form);
      assert.deepEqual([refused.status, refused.body.errors], [400, { [name]: problem }]);
    }
    assert.equal((await create({ [base]: 'true', filterExpression: key })).status, 200);
    const path = `/settings/replications/${encodeURIComponent(id)}`;
    assert.deepEqual((await request(path)).body[name], true);
    // A change that removes what the setting requires is refused.
    for (const form of [
      { [base]: 'false' },
      { filterExpression: '', filterSkipRestream: 'true' },
      { filterExpression: 'a = 1', filterSkipRestream: 'true' },
    ] as Record<string, string>[]) {
      const refused = await post(path, form);
      assert.deepEqual([refused.status, Object.keys(refused.body)], [400, [name]], JSON.stringify(form));
    }
    assert.equal((await post(path, { [base]: 'false', [name]: 'false' })).status, 200);
    await request(`/controller/cancelXDCR/${encodeURIComponent(id)}`, { method: 'DELETE' });
    // Defaults have no expression.
    const defaults = (form: Record<string, string>) => post('/settings/replications', form);
    assert.deepEqual((await defaults({ [name]: 'true' })).body, {
      [name]: `${base}=true is required for this setting`,
    });
    assert.equal((await defaults({ [name]: 'true', [base]: 'true' })).status, 200);
    assert.equal((await defaults({ [name]: 'false', [base]: 'false' })).status, 200);
  }
});
