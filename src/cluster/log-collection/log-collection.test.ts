import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseForm } from '#http/path.ts';
import { aManager } from '../../../test/support/manager.ts';
import { eventually } from '../../../test/support/node-process.ts';
import { unzip } from '../../../test/support/unzip.ts';
import { FolderBundles } from './bundle-files.adapter.ts';
import type { BundleFiles } from './bundle-files.ts';

const start = '/controller/startLogsCollection';
const ofAllNodes = { nodes: '*' };

async function collecting(
  t: { after(end: () => void): void },
  change: (files: FolderBundles) => void = () => {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'divan-bundle-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const bundleFiles = new FolderBundles(folder);
  change(bundleFiles);
  const manager = await aManager({ bundleFiles });
  const task = async () => {
    const { body } = await manager.request('/pools/default/tasks');
    return body.find(({ type }: { type: string }) => type === 'clusterLogsCollection');
  };
  const collected = async (form: Record<string, string> = ofAllNodes) => {
    const { status, text } = await manager.request(start, { form });
    assert.deepEqual([status, text], [200, '[]']);
    const ended = await eventually(async () => {
      const found = await task();
      assert.equal(found.status, 'completed');
      return found;
    });
    const { path } = ended.perNode['ns_1@cb.local'];
    return { ended, path, files: unzip(readFileSync(path)) };
  };
  return { ...manager, folder, task, collected };
}

describe('a support bundle', () => {
  it('has the settings, buckets, metrics, events and sizes, and the task says where it is', async (t) => {
    const { request, folder, task, collected } = await collecting(t);
    assert.equal(await task(), undefined);
    writeFileSync(join(folder, 'some.db'), '12345');
    const bucket = { name: 'travel', ramQuotaMB: 100, replicaNumber: 0 };
    assert.equal((await request('/pools/default/buckets', { form: bucket })).status, 202);
    const { ended, path, files } = await collected();
    assert.match(path, /\/tmp\/collectinfo-[\dT-]+-ns_1@cb\.local\.zip$/);
    assert.deepEqual(
      [ended.node, ended.progress, ended.perNode['ns_1@cb.local'].status, ended.cancelURI],
      ['ns_1@cb.local', 100, 'collected', undefined],
    );
    assert.match(ended.ts, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    const read = (name: string) => JSON.parse(files.get(name) ?? assert.fail(`${name} is missing`));
    assert.equal(read('rest/settings/passwordPolicy.json').minLength, 6);
    assert.equal(read('rest/pools/default/buckets/travel.json').name, 'travel');
    assert.ok(read('rest/pools/default/buckets/travel/scopes.json').scopes);
    assert.equal(read('disk_sizes.json')['some.db'], 5);
    assert.match(files.get('events.jsonl') ?? '', /"name":"node_started"/);
    assert.match(files.get('rest/metrics.txt') ?? '', /^# HELP/m);
    assert.equal(read('bundle.json').redaction, 'none');
    assert.ok(![...files.keys()].some((name) => name.includes('/docs')));
  });

  it('has no logs if their folder does not exist, and has the audit log only for callers that may read it', async (t) => {
    const { request, collected } = await collecting(t);
    const { files } = await collected();
    assert.ok(![...files.keys()].some((name) => name.startsWith('logs/')));
    const put = (roles: string) =>
      request('/settings/rbac/users/local/op', { method: 'PUT', form: { password: 'password', roles } });
    await put('cluster_admin');
    const withAudit = { form: { ...ofAllNodes, auditLog: 'true' }, as: 'op:password' };
    assert.equal((await request(start, withAudit)).status, 403);
    await put('admin');
    assert.equal((await request(start, withAudit)).status, 200);
  });

  it('is started by administrators of the cluster only, and shows them what they may read', async (t) => {
    const { request, collected, task } = await collecting(t);
    const put = (roles: string) =>
      request('/settings/rbac/users/local/op', { method: 'PUT', form: { password: 'password', roles } });
    for (const roles of ['ro_admin', 'security_admin_local', 'bucket_admin[*]']) {
      await put(roles);
      for (const path of [start, '/controller/cancelLogsCollection'])
        assert.equal((await request(path, { form: ofAllNodes, as: 'op:password' })).status, 403, roles);
    }
    assert.ok((await collected()).files.has('rest/settings/rbac/users.json'));
    await put('cluster_admin');
    assert.equal((await request(start, { form: ofAllNodes, as: 'op:password' })).status, 200);
    const { path } = await eventually(async () => {
      const { status, perNode } = await task();
      assert.equal(status, 'completed');
      return perNode['ns_1@cb.local'];
    });
    const files = unzip(readFileSync(path));
    assert.ok(files.has('rest/pools/default.json'));
    assert.ok(!files.has('rest/settings/rbac/users.json'));
  });

  it('is redacted on request, with a random or a given salt, or with the setting for that', async (t) => {
    const { request, collected } = await collecting(t);
    const form = { password: 'password', roles: 'ro_admin', name: 'Jane Kent' };
    await request('/settings/rbac/users/local/jane', { method: 'PUT', form });
    const texts = async (fields: Record<string, string>) =>
      [...(await collected({ ...ofAllNodes, ...fields })).files.values()].join('');
    assert.match(await texts({}), /"jane"/);
    const partial = { logRedactionLevel: 'partial' };
    const salted = await texts({ ...partial, logRedactionSalt: 'pepper' });
    assert.doesNotMatch(salted, /\bjane\b|Jane Kent/i);
    assert.match(salted, /<ud>[0-9a-f]{40}<\/ud>/);
    const change = await request('/settings/logRedaction', { form: partial });
    assert.deepEqual([change.status, change.body], [200, partial]);
    assert.deepEqual((await request('/settings/logRedaction')).body, partial);
    const { path, files } = await collected();
    assert.match(path, /-redacted\.zip$/);
    assert.doesNotMatch([...files.values()].join(''), /\bjane\b/);
  });

  it('is refused with every wrong field named', async (t) => {
    const { request, task } = await collecting(t);
    for (const [form, fields] of [
      [{}, { nodes: 'Please select at least one node.' }],
      [{ nodes: 'n_9@x' }, { nodes: 'Unknown nodes: ["n_9@x"]' }],
      [{ ...ofAllNodes, logDir: 'here' }, { logDir: 'Must be an absolute path' }],
      [
        { ...ofAllNodes, logRedactionLevel: 'all' },
        { logRedactionLevel: 'log redaction should be none or partial' },
      ],
      [
        { ...ofAllNodes, logRedactionSalt: 'x' },
        { logRedactionSalt: 'log redaction level must be partial if salt is given' },
      ],
    ] as const) {
      const { status, body } = await request(start, { form });
      assert.deepEqual([status, body], [400, fields]);
    }
    const upload = { uploadHost: 'x.example', customer: 'c' };
    const refused = await request(start, { form: { ...ofAllNodes, ...upload, nonsense: '1' } });
    assert.equal(refused.status, 400);
    assert.match(refused.body.uploadHost, /not uploaded/);
    assert.match(refused.body.customer, /not uploaded/);
    assert.equal(refused.body.nonsense, 'Unsupported key');
    assert.equal((await request(start, { form: parseForm('nodes=*&__proto__=1') })).status, 400);
    assert.equal(await task(), undefined);
  });

  it('is written one at a time, and can be cancelled', async () => {
    const writing = Promise.withResolvers<AbortSignal>();
    const bundleFiles: BundleFiles = {
      folder: '/data/tmp',
      logs: async () => [],
      sizes: async () => ({}),
      async *tail() {},
      write: (_, __, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason));
          writing.resolve(signal);
        }),
    };
    const { request } = await aManager({ bundleFiles });
    const task = async () => (await request('/pools/default/tasks')).body.at(-1);
    assert.equal((await request(start, { form: ofAllNodes })).status, 200);
    const second = await request(start, { form: ofAllNodes });
    assert.deepEqual([second.status, second.body], [400, { _: 'Logs collection task is already started' }]);
    await writing.promise;
    const running = await task();
    assert.deepEqual(
      [running.status, running.cancelURI, running.perNode['ns_1@cb.local'].status],
      ['running', '/controller/cancelLogsCollection', 'started'],
    );
    assert.equal((await request('/controller/cancelLogsCollection', { method: 'POST' })).text, '[]');
    const cancelled = await task();
    assert.deepEqual(
      [cancelled.status, cancelled.perNode['ns_1@cb.local'].status],
      ['cancelled', 'cancelled'],
    );
  });

  it('has everything else if logs or the data folder cannot be read', async (t) => {
    const { collected } = await collecting(t, (bundleFiles) => {
      bundleFiles.sizes = () => Promise.reject(new Error('EIO: i/o error, scandir'));
      bundleFiles.logs = async () => ['node.1.log'];
    });
    const { files } = await collected();
    assert.equal(files.get('disk_sizes.json'), '{"error":"EIO: i/o error, scandir"}\n');
    assert.match(files.get('logs/node.1.log') ?? '', /^\{"error":"ENOENT: .*"\}\n$/);
    assert.match(files.get('events.jsonl') ?? '', /"name":"node_started"/);
  });

  it('reports why it cannot be written', async (t) => {
    const { request, task } = await collecting(t);
    await request(start, { form: { ...ofAllNodes, logDir: '/no/such/folder' } });
    await eventually(async () => {
      const { status, perNode } = await task();
      const { status: nodeStatus, collectionOutput } = perNode['ns_1@cb.local'];
      assert.deepEqual([status, nodeStatus], ['completed', 'failed']);
      assert.match(collectionOutput, /ENOENT.*\/no\/such\/folder/);
    });
  });
});

describe('the folder of bundles', () => {
  it('keeps the last five bundles, and removes the bundle of a cancelled collection', async (t) => {
    const { folder, collected, clock } = await collecting(t);
    for (let round = 0; round < 7; round++) {
      clock.advance(1_000);
      await collected();
    }
    assert.equal(readdirSync(join(folder, 'tmp')).length, 5);
    const cancel = new AbortController();
    const entries = [
      {
        name: 'endless',
        async *pieces() {
          for (;;) {
            yield 'x'.repeat(1 << 16);
            cancel.abort();
          }
        },
      },
    ];
    const path = join(folder, 'tmp', 'collectinfo-zz.zip');
    const run = { signal: cancel.signal, entryWritten: () => {} };
    await assert.rejects(new FolderBundles(folder).write(path, entries, run));
    assert.ok(!readdirSync(join(folder, 'tmp')).some((name) => name.includes('zz')));
  });

  it('reads the end of a log in whole lines', async (t) => {
    const { folder } = await collecting(t);
    writeFileSync(join(folder, 'node.log'), 'first line\nsecond line\nthird line\n');
    const tail = async (bytes: number) => {
      let text = '';
      for await (const piece of new FolderBundles(folder).tail(folder, 'node.log', bytes)) text += piece;
      return text;
    };
    assert.equal(await tail(1_000), 'first line\nsecond line\nthird line\n');
    assert.equal(await tail(15), 'third line\n');
  });

  it('leaves out a log that was removed since the folder was listed', async (t) => {
    const { folder } = await collecting(t);
    writeFileSync(join(folder, 'node.log'), '');
    // Listed, and absent when its time is read.
    symlinkSync(join(folder, 'gone'), join(folder, 'node.1.log'));
    assert.deepEqual(await new FolderBundles(folder).logs(folder, ['node.']), ['node.log']);
  });
});
