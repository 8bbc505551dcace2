// The ports of the backup service under the allowlist, strict encryption, alternate addresses and the audit log, and its nodes in a cluster.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { isAdmitted } from '../support/admission.ts';
import { BackupApi, self } from '../support/backup-api.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { rebalance } from '../support/join-nodes.ts';
import { needs } from '../support/needs.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const services = ['--services', 'kv,index,n1ql,backup'];
const args = [...services, '--bucket', 'travel'];

const withRepository = async (node: NodeProcess, archive = join(node.dataDir, 'backups', 'travel')) => {
  const api = new BackupApi(node);
  await api.json('POST', `${self}/active/travel`, { plan: '_daily_backups', archive });
  return api;
};
const store = async (node: NodeProcess, key: string): Promise<void> => {
  const path = `/pools/default/buckets/travel/docs/${key}`;
  assert.equal((await node.request(path, 'POST', { value: '{"v":1}' })).status, 200);
};
const backUp = async (api: BackupApi): Promise<void> => {
  const task = await api.run('travel', 'backup', { full_backup: true });
  assert.equal(task.status, 'done', task.error);
};

describe('the ports of the backup service', () => {
  it('admit only clients on the list, and the service works under it', {
    skip: needs('loopback addresses'),
  }, async () => {
    await using node = await NodeProcess.start({ args });
    const api = await withRepository(node);
    const { backup = '', backupTls = '' } = node.ready.node;
    const admitted = async (localAddress: string): Promise<boolean[]> =>
      await Promise.all(
        (
          [
            [backup, 'http'],
            [backupTls, 'tls'],
          ] as const
        ).map(([url, protocol]) => {
          const { hostname: host, port } = new URL(url);
          return isAdmitted({ host, port: Number(port), localAddress }, protocol);
        }),
      );
    assert.deepEqual(await admitted('127.9.9.9'), [true, true]);
    const { username, password } = administrator;
    const listed = await fetch(`${node.ready.node.rest}/settings/clientAllowlist`, {
      method: 'PUT',
      headers: {
        authorization: `Basic ${btoa(`${username}:${password}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ entries: ['127.0.0.1/32'] }),
    });
    assert.equal(listed.status, 200, await listed.text());
    await eventually(async () => assert.deepEqual(await admitted('127.9.9.9'), [false, false]));
    assert.deepEqual(await admitted('127.0.0.1'), [true, true]);
    await store(node, 'k');
    await backUp(api);
    const restored = await api.run('travel', 'restore', {
      map_data: 'travel=copy',
      auto_create_buckets: true,
    });
    assert.equal(restored.status, 'done', restored.error);
    const proxied = await node.request('/_p/backup/api/v1/plan');
    assert.equal(proxied.status, 200);
  });

  it('serve this machine under strict encryption, and backups continue to work', async () => {
    await using node = await NodeProcess.start({ args });
    const api = await withRepository(node);
    await store(node, 'k');
    await node.request('/settings/autoFailover', 'POST', { enabled: 'false' });
    for (const path of ['enableExternalListener', 'setupNetConfig'])
      await node.request(`/node/controller/${path}`, 'POST', { nodeEncryption: 'on' });
    const strict = await node.request('/settings/security', 'POST', { clusterEncryptionLevel: 'strict' });
    assert.equal(strict.status, 200, await strict.text());
    await backUp(api);
    const restored = await api.run('travel', 'restore', { force_updates: true });
    assert.equal(restored.status, 'done', restored.error);
  });

  it('are among the alternate addresses of the node', async () => {
    await using node = await NodeProcess.start({ args });
    const external = { hostname: 'outside.example.com', backupAPI: '30097', backupAPIHTTPS: '31097' };
    const set = await node.request('/node/controller/setupAlternateAddresses/external', 'PUT', external);
    assert.equal(set.status, 200, await set.text());
    const { nodesExt } = (await (await node.request('/pools/default/nodeServices')).json()) as {
      nodesExt: { alternateAddresses: { external: unknown } }[];
    };
    assert.deepEqual(nodesExt[0]?.alternateAddresses.external, {
      hostname: 'outside.example.com',
      ports: { backupAPI: 30_097, backupAPIHTTPS: 31_097 },
    });
  });

  it('record changes in the audit log and the events, and the password of a target nowhere', async () => {
    await using node = await NodeProcess.start({ args });
    const enabled = await node.request('/settings/audit', 'POST', { auditdEnabled: 'true' });
    assert.equal(enabled.status, 200, await enabled.text());
    const api = await withRepository(node);
    await api.json('POST', '/plan/audited', { description: 'some text' });
    await store(node, 'k');
    await backUp(api);
    const secret = 'pl4nted-s3cret';
    const target = { target: node.ready.node.rest, user: 'Administrator', password: secret };
    const refused = await api.run('travel', 'restore', target);
    assert.match(refused.error ?? '', /refuses the user "Administrator"/);
    const file = join(node.dataDir, 'logs', 'audit.log');
    const operations = ['create_repository', 'create_plan', 'run_backup', 'run_restore'];
    await eventually(() => {
      const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
      for (const operation of operations) assert.ok(text.includes(`"backup.${operation}"`), operation);
    });
    const restores = `"/api/v1${self}/active/travel/restore"`;
    await eventually(async () =>
      assert.ok((await (await node.request('/events?limit=-1')).text()).includes(restores)),
    );
    const { repo } = await api.repository('travel');
    const history = readFileSync(join(node.dataDir, 'backups', 'travel', `${repo}.tasks.jsonl`), 'utf8');
    const events = await (await node.request('/events?limit=-1')).text();
    const shown = JSON.stringify(await api.history('travel'));
    for (const text of [readFileSync(file, 'utf8'), history, events, shown, node.output])
      assert.ok(!text.includes(secret));
  });
});

describe('the backup service of two nodes', () => {
  it('shares plans, repositories and archives, and backs up the documents of both', async () => {
    const root = mkdtempSync(join(tmpdir(), 'divan-shared-archives-'));
    try {
      const shared = [...services, '--backup-root', root];
      await using first = await NodeProcess.start({ args: [...shared, '--bucket', 'travel'] });
      await using second = await NodeProcess.start({ args: shared, unprovisioned: true });
      const added = { hostname: second.ready.node.rest, user: '', password: '', services: 'kv,backup' };
      const answer = await first.request('/controller/addNode', 'POST', added);
      assert.equal(answer.status, 200, await answer.text());
      await rebalance(first);
      const [byFirst, bySecond] = [new BackupApi(first), new BackupApi(second)];
      for (let n = 0; n < 40; n++) await store(first, `k${n}`);
      await byFirst.json('POST', '/plan/shared', { tasks: [] });
      await eventually(async () => assert.equal((await bySecond.send('GET', '/plan/shared')).status, 200));
      await withRepository(second, join(root, 'travel'));
      await backUp(bySecond);
      await eventually(async () => assert.equal((await byFirst.info('travel')).count, 1));
      // The restore makes the bucket: its vbuckets get their nodes while the task runs.
      const restored = await byFirst.run('travel', 'restore', {
        map_data: 'travel=copy',
        auto_create_buckets: true,
      });
      assert.equal(restored.status, 'done', restored.error);
      const access = backupNode(first);
      const saved = await stateOf(access, 'travel');
      assert.equal(saved.size, 40);
      assert.deepEqual(differences(saved, await stateOf(access, 'copy')), []);
      const tasks = (await bySecond.history('travel')).map(({ type }) => type);
      assert.deepEqual(tasks, ['RESTORE', 'BACKUP']);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});
