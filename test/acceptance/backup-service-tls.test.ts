// Restores of the backup service into a target over TLS, whose certificate an authority that this cluster trusts has issued.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BackupApi, self } from '../support/backup-api.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { needs } from '../support/needs.ts';
import { installCertificate } from '../support/node-certificates.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { fillInbox, OpensslAuthority } from '../support/openssl.ts';

describe('a restore over TLS', { skip: needs('openssl') }, () => {
  let source: NodeProcess;
  let target: NodeProcess;
  let api: BackupApi;
  let authority: OpensslAuthority;

  before(async () => {
    authority = new OpensslAuthority('/CN=Theirs');
    source = await NodeProcess.start({ args: ['--services', 'kv,index,n1ql,backup', '--bucket', 'travel'] });
    target = await NodeProcess.start({ args: ['--bucket', 'travel'] });
    await installCertificate(target, authority, '/CN=target');
    api = new BackupApi(source);
    for (let n = 0; n < 20; n++)
      await source.request(`/pools/default/buckets/travel/docs/k${n}`, 'POST', { value: `{"n":${n}}` });
    const statement = JSON.stringify({ statement: 'CREATE INDEX by_n ON travel(n)' });
    const created = await fetch(`${source.ready.node.query}/query/service`, {
      method: 'POST',
      body: statement,
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${btoa('Administrator:password')}`,
      },
    });
    assert.equal(created.status, 200, await created.text());
    const archive = join(source.dataDir, 'backups', 'travel');
    await api.json('POST', `${self}/active/travel`, { plan: '_daily_backups', archive });
    const task = await api.run('travel', 'backup', {});
    assert.equal(task.status, 'done', task.error);
  });
  after(async () => {
    await source?.[Symbol.asyncDispose]();
    await target?.[Symbol.asyncDispose]();
    authority?.[Symbol.dispose]();
  });

  const account = { user: administrator.username, password: administrator.password };
  const address = () => target.ready.node.restTls.replace('https://', '');

  it('is refused while the authority of the target is unknown', async () => {
    const refused = await api.run('travel', 'restore', { ...account, target: `https://${address()}` });
    assert.equal(refused.status, 'failed');
    assert.match(refused.error ?? '', /cannot reach .*(certificate|issuer)/i);
    assert.equal((await stateOf(backupNode(target), 'travel')).size, 0);
  });

  it('writes documents and indexes by its TLS ports once the authority is trusted', async () => {
    fillInbox(join(source.dataDir, 'inbox'), { 'CA/root.pem': authority.certificate });
    assert.equal((await source.request('/node/controller/loadTrustedCAs', 'POST')).status, 200);
    for (const scheme of ['https', 'couchbases']) {
      const restored = await api.run('travel', 'restore', { ...account, target: `${scheme}://${address()}` });
      assert.equal(restored.status, 'done', restored.error);
      assert.equal(restored.target_cluster, `https://${address()}`);
    }
    const states = await Promise.all([source, target].map((node) => stateOf(backupNode(node), 'travel')));
    const [atSource, atTarget] = states as [
      Awaited<ReturnType<typeof stateOf>>,
      Awaited<ReturnType<typeof stateOf>>,
    ];
    assert.equal(atSource.size, 20);
    assert.deepEqual(differences(atSource, atTarget), []);
    const { indexes } = (await (await target.request('/indexStatus')).json()) as {
      indexes: { indexName: string }[];
    };
    assert.deepEqual(
      indexes.map(({ indexName }) => indexName),
      ['by_n'],
    );
  });

  it('reaches a target that accepts TLS only from other machines', async () => {
    await target.request('/settings/autoFailover', 'POST', { enabled: 'false' });
    for (const path of ['enableExternalListener', 'setupNetConfig'])
      await target.request(`/node/controller/${path}`, 'POST', { nodeEncryption: 'on' });
    const strict = await target.request('/settings/security', 'POST', { clusterEncryptionLevel: 'strict' });
    assert.equal(strict.status, 200, await strict.text());
    const body = { ...account, target: `https://${address()}`, force_updates: true };
    const restored = await api.run('travel', 'restore', body);
    assert.equal(restored.status, 'done', restored.error);
  });
});
