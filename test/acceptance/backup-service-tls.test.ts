// Restores of the backup service into a target over TLS, when this cluster does not trust the authority of the target, and when it does.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BackupApi, self } from '../support/backup-api.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { needs } from '../support/needs.ts';
import { installCertificate } from '../support/node-certificates.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { fillInbox, OpensslAuthority } from '../support/openssl.ts';

const documents = 20;

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
    for (let n = 0; n < documents; n++) {
      const path = `/pools/default/buckets/travel/docs/k${n}`;
      assert.equal((await source.request(path, 'POST', { value: `{"n":${n}}` })).status, 200);
    }
    const statement = JSON.stringify({ statement: 'CREATE INDEX by_n ON travel(n)' });
    const created = await fetch(`${source.ready.node.query}/query/service`, {
      method: 'POST',
      body: statement,
      headers: {
        'content-type': 'application/json',
        authorization: `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`,
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

  it('writes documents and indexes through the TLS ports once the authority is trusted', async () => {
    fillInbox(join(source.dataDir, 'inbox'), { 'CA/root.pem': authority.certificate });
    assert.equal((await source.request('/node/controller/loadTrustedCAs', 'POST')).status, 200);
    for (const scheme of ['https', 'couchbases']) {
      const restored = await api.run('travel', 'restore', { ...account, target: `${scheme}://${address()}` });
      assert.equal(restored.status, 'done', restored.error);
      assert.equal(restored.target_cluster, `https://${address()}`);
    }
    const atSource = await stateOf(backupNode(source), 'travel');
    const atTarget = await stateOf(backupNode(target), 'travel');
    assert.equal(atSource.size, documents);
    assert.deepEqual(differences(atSource, atTarget), []);
    const { indexes } = (await (await target.request('/indexStatus')).json()) as {
      indexes: { indexName: string }[];
    };
    assert.deepEqual(
      indexes.map(({ indexName }) => indexName),
      ['by_n'],
    );
  });

  it('reaches a target with strict encryption', async () => {
    await target.request('/settings/autoFailover', 'POST', { enabled: 'false' });
    for (const call of ['enableExternalListener', 'setupNetConfig'])
      await target.request(`/node/controller/${call}`, 'POST', { nodeEncryption: 'on' });
    const strict = await target.request('/settings/security', 'POST', { clusterEncryptionLevel: 'strict' });
    assert.equal(strict.status, 200, await strict.text());
    const body = { ...account, target: `https://${address()}`, force_updates: true };
    const restored = await api.run('travel', 'restore', body);
    assert.equal(restored.status, 'done', restored.error);
  });
});
