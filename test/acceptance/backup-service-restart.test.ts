// The backup service of a real node: kill -9 during tasks, who may use the service, and its tasks in metrics.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from 'node:tls';
import { BackupApi, self } from '../support/backup-api.ts';
import { administrator, eventually, NodeProcess } from '../support/node-process.ts';

const args = ['--services', 'kv,index,n1ql,backup', '--bucket', 'travel'];

/** The status of a GET request at the TLS port of the service. */
function statusOverTls(node: NodeProcess, path: string, authorization: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const options = { headers: { authorization }, rejectUnauthorized: false, agent: false };
  request(`${node.ready.node.backupTls}/api/v1${path}`, options, (answer) => {
    answer.resume();
    resolve(answer.statusCode ?? 0);
  })
    .on('error', reject)
    .end();
  return promise;
}

describe('the backup service', () => {
  it('keeps plans, repositories and histories after kill -9 during a task', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-service-'));
    const dataDir = join(scratch, 'data');
    try {
      const killed: string[] = [];
      for (let round = 0; round < 3; round++) {
        await using node = await NodeProcess.start({ args, dataDir });
        const api = new BackupApi(node);
        if (round === 0) {
          await api.json('POST', '/plan/weekly', {
            tasks: [{ name: 't', task_type: 'BACKUP', schedule: { frequency: 1, period: 'WEEKS' } }],
          });
          const archive = join(dataDir, 'backups', 'travel');
          await api.json('POST', `${self}/active/travel`, { plan: 'weekly', archive });
        }
        for (const name of killed) assert.match((await api.ended('travel', name)).status, /^(failed|done)$/);
        const next = await api.run('travel', 'backup', { full_backup: false });
        assert.equal(next.status, 'done', next.error);
        const { task_name } = await api.json('POST', `${self}/active/travel/backup`, { full_backup: true });
        killed.push(task_name);
        await eventually(async () =>
          assert.ok((await api.history('travel')).some((task) => task.task_name === task_name)),
        );
        await node.stop('SIGKILL');
      }
      await using node = await NodeProcess.start({ args, dataDir });
      const api = new BackupApi(node);
      const scheduled = (await api.repository('travel')).scheduled?.['t'];
      assert.ok(Date.parse(scheduled?.next_run ?? '') > Date.now());
      const last = await api.run('travel', 'backup', { full_backup: true });
      assert.equal(last.status, 'done', last.error);
      for (const backup of (await api.info('travel')).backups) assert.equal(backup.complete, true);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });

  it('cannot be chosen on a node that was started without it', async () => {
    await using node = await NodeProcess.start({ unprovisioned: true });
    const refused = await node.request('/node/controller/setupServices', 'POST', { services: 'kv,backup' });
    assert.equal(refused.status, 400);
    assert.match(
      await refused.text(),
      /was not started with: backup\. It runs: kv, index, n1ql; its option --services/,
    );
    assert.equal(node.ready.node.backup, undefined);
  });

  it('is for full administrators only, on both of its ports, and follows its TLS settings', async () => {
    await using node = await NodeProcess.start({ args });
    const api = new BackupApi(node);
    for (const [user, roles] of [
      ['reader', 'ro_admin'],
      ['keeper', 'data_backup[travel]'],
      ['manager', 'cluster_admin'],
    ] as const) {
      await node.request(`/settings/rbac/users/local/${user}`, 'PUT', { password: 'password', roles });
      const authorization = `Basic ${btoa(`${user}:password`)}`;
      await eventually(async () => {
        for (const path of ['/config', '/plan', '/cluster/self']) {
          assert.equal((await api.send('GET', path, undefined, authorization)).status, 403);
          assert.equal(await statusOverTls(node, path, authorization), 403);
        }
      });
    }
    const unknownUser = `Basic ${btoa('unknown:password')}`;
    assert.equal((await api.send('GET', '/plan', undefined, unknownUser)).status, 401);
    assert.equal(await statusOverTls(node, '/plan', unknownUser), 401);
    const full = `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`;
    assert.equal(await statusOverTls(node, '/plan', full), 200);
    assert.equal((await api.send('GET', '/nothing')).status, 404);
    const { port } = new URL(node.ready.node.backupTls ?? '');
    const protocolOf = (maxVersion: 'TLSv1.2' | 'TLSv1.3') =>
      new Promise<string>((resolve) => {
        const socket = connect({
          port: Number(port),
          host: '127.0.0.1',
          rejectUnauthorized: false,
          maxVersion,
        });
        socket.once('secureConnect', () => {
          resolve(socket.getProtocol() ?? '');
          socket.destroy();
        });
        socket.once('error', () => resolve('refused'));
      });
    assert.equal(await protocolOf('TLSv1.2'), 'TLSv1.2');
    await node.request('/settings/security/backup', 'POST', { tlsMinVersion: 'tlsv1.3' });
    await eventually(async () => assert.equal(await protocolOf('TLSv1.2'), 'refused'));
    assert.equal(await protocolOf('TLSv1.3'), 'TLSv1.3');
  });

  it('shows its tasks in metrics, and refuses backups of a bucket that is gone', async () => {
    await using node = await NodeProcess.start({ args });
    const api = new BackupApi(node);
    const text = async (path: string) => (await node.request(path)).text();
    assert.doesNotMatch(await text('/metrics'), /^backup_task_run/m);
    const archive = join(node.dataDir, 'backups', 'travel');
    await api.json('POST', `${self}/active/travel`, {
      plan: '_daily_backups',
      archive,
      bucket_name: 'travel',
    });
    assert.equal((await api.run('travel', 'backup', {})).status, 'done');
    await eventually(async () => {
      const metrics = await text('/metrics');
      assert.match(metrics, /^backup_task_run\{[^}]*repository="travel"[^}]*\} 1/m);
      assert.match(metrics, /^backup_data_size\{[^}]*\} [1-9]/m);
      assert.match(metrics, /^backup_task_duration_seconds_count\{/m);
    });
    await node.request('/pools/default/buckets/travel', 'DELETE');
    const refused = await api.refusal('POST', `${self}/active/travel/backup`, {});
    assert.deepEqual([refused.status, refused.msg], [500, 'could not send task']);
    assert.match(refused.extras ?? '', /failed bucket check for bucket 'travel': the bucket does not exist/);
  });
});
