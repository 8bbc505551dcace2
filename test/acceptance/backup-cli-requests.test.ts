// The requests that couchbase-cli 7.1 sends for `backup-service settings`, `plan` and `repository`, with its headers, and the fields of the
// answers that it prints. It finds the service in nodeServices.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { self } from '../support/backup-api.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers have many forms.
type Answer = any;

const headers = {
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  authorization: `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`,
  connection: 'keep-alive',
  'user-agent': 'couchbase-cli 7.1.4-0000',
};

const backupTask = {
  name: 't1',
  task_type: 'BACKUP',
  full_backup: true,
  schedule: { job_type: 'BACKUP', frequency: 1, period: 'MINUTES', time: '22:00' },
};
const mergeTask = {
  name: 'm',
  task_type: 'MERGE',
  merge_options: { offset_start: 0, offset_end: 2 },
  schedule: { job_type: 'MERGE', frequency: 1, period: 'SUNDAY', time: '22:00' },
};
const mergeOfAll = {
  name: 'm',
  task_type: 'MERGE',
  schedule: { job_type: 'MERGE', frequency: 2, period: 'WEEKS' },
};

describe('couchbase-cli backup-service gets the answers that it expects', () => {
  let node: NodeProcess;
  let service = '';
  const archive = (name: string): string => join(node.dataDir, 'backups', name);

  const send = async (method: string, path: string, body?: unknown): Promise<Response> =>
    await fetch(`${service}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  /** What the tool reads as success: 200 and, unless there is no body, JSON. */
  const answer = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await send(method, path, body);
    const text = await response.text();
    assert.equal(response.status, 200, `${method} ${path}: ${text}`);
    if (text === '') return null;
    assert.match(response.headers.get('content-type') ?? '', /application\/json/);
    return JSON.parse(text);
  };
  /** The tool prints the whole JSON of a refusal. */
  const refused = async (status: number, method: string, path: string, body?: unknown): Promise<string> => {
    const response = await send(method, path, body);
    const { status: stated, msg, extras = '' } = (await response.json()) as Answer;
    assert.deepEqual([response.status, stated], [status, status], `${method} ${path}`);
    return `${msg}: ${extras}`;
  };

  before(async () => {
    node = await NodeProcess.start({
      args: ['--services', 'kv,index,n1ql,backup', '--bucket', 'travel'],
    });
    const { nodesExt } = (await (await node.request('/pools/default/nodeServices')).json()) as {
      nodesExt: { hostname?: string; services: Record<string, number> }[];
    };
    service = `http://127.0.0.1:${nodesExt[0]?.services['backupAPI']}`;
  });
  after(() => node?.[Symbol.asyncDispose]());

  it('to settings --get and --set', async () => {
    assert.deepEqual(await answer('GET', '/config'), {
      history_rotation_period: 30,
      history_rotation_size: 50,
    });
    assert.equal(await answer('PATCH', '/config', { history_rotation_period: 40 }), null);
    assert.equal(await answer('PATCH', '/config', { history_rotation_size: 60 }), null);
    const both = { history_rotation_period: 30, history_rotation_size: 10 };
    assert.equal(await answer('PATCH', '/config', both), null);
    assert.deepEqual(await answer('GET', '/config'), both);
    assert.match(await refused(400, 'PATCH', '/config', { history_rotation_size: 4 }), /from 5 to 200/);
  });

  it('to plan --list, --get, --add and --remove', async () => {
    const plans = await answer('GET', '/plan');
    assert.ok(plans.length > 0);
    for (const plan of plans)
      assert.deepEqual(
        [typeof plan.name, plan.default, plan.services, plan.tasks.length > 0],
        ['string', true, null, true],
      );
    assert.equal(await answer('POST', '/plan/empty', {}), null);
    const all = { services: ['data', 'eventing'], tasks: [backupTask, mergeTask], description: 'some text' };
    assert.equal(await answer('POST', '/plan/p1', all), null);
    const { name, description, services, tasks, default: isDefault } = await answer('GET', '/plan/p1');
    assert.deepEqual(
      [name, description, services, isDefault],
      ['p1', 'some text', ['data', 'eventing'], false],
    );
    assert.deepEqual(tasks[0], { ...backupTask, options: null });
    assert.deepEqual(
      [tasks[1].merge_options, tasks[1].schedule],
      [mergeTask.merge_options, mergeTask.schedule],
    );
    const withoutTime = { ...backupTask, schedule: { frequency: 1, period: 'DAYS' } };
    await answer('POST', '/plan/p2', { tasks: [withoutTime, mergeOfAll] });
    assert.deepEqual((await answer('GET', '/plan/p2')).tasks[0].schedule, {
      job_type: 'BACKUP',
      frequency: 1,
      period: 'DAYS',
    });
    assert.match(await refused(400, 'POST', '/plan/p1', all), /plan with the name p1 exists/);
    assert.match(await refused(404, 'GET', '/plan/gone'), /requested plan not found/);
    for (const plan of ['empty', 'p2']) assert.equal(await answer('DELETE', `/plan/${plan}`), null);
    assert.match(await refused(404, 'DELETE', '/plan/empty'), /requested plan not found/);
    assert.match(await refused(400, 'DELETE', '/plan/_hourly_backups'), /predefined plan/);
  });

  it('to repository --add, --list and --get', async () => {
    const added = { plan: 'p1', archive: archive('r1'), bucket_name: 'travel' };
    assert.equal(await answer('POST', `${self}/active/r1`, added), null);
    await answer('POST', `${self}/active/r2`, { plan: 'p1', archive: archive('r2') });
    const lists = await Promise.all(
      ['active', 'archived', 'imported'].map((state) => answer('GET', `${self}/${state}`)),
    );
    assert.deepEqual(
      lists.map((list) => list.map((one: Answer) => [one.id, one.state, one.plan_name, one.health.healthy])),
      [
        [
          ['r1', 'active', 'p1', true],
          ['r2', 'active', 'p1', true],
        ],
        [],
        [],
      ],
    );
    const one = await answer('GET', `${self}/active/r1`);
    assert.deepEqual([one.archive, one.bucket.name], [archive('r1'), 'travel']);
    assert.match(one.repo, /^[0-9a-f-]{36}$/);
    assert.ok(Date.parse(one.creation_time) > 0);
    assert.deepEqual(
      Object.values<Answer>(one.scheduled).map((task) => [task.name, task.task_type]),
      [
        ['t1', 'BACKUP'],
        ['m', 'MERGE'],
      ],
    );
    for (const { next_run } of Object.values<Answer>(one.scheduled)) assert.ok(Date.parse(next_run) > 0);
    assert.match(await refused(400, 'POST', `${self}/active/r1`, added), /id `r1` exists/);
    assert.match(
      await refused(404, 'POST', `${self}/active/r3`, { ...added, plan: 'gone' }),
      /plan not found/,
    );
    assert.match(await refused(404, 'GET', `${self}/active/gone`), /`gone` does not exist/);
  });

  it('to repository --add in an object store: a refusal with the reason', async () => {
    const stored = {
      plan: 'p1',
      archive: 's3://b/a',
      bucket_name: 'travel',
      cloud_staging_dir: 'dir',
      cloud_credentials_id: 'id',
      cloud_credentials_key: 'key',
      cloud_region: 'region',
      cloud_credentials_refresh_token: 'token',
      cloud_endpoint: 'endpoint',
      cloud_force_path_style: true,
    };
    assert.match(
      await refused(400, 'POST', `${self}/active/r3`, stored),
      /^invalid archive location: no object store/,
    );
    const { cloud_credentials_id: _id, cloud_credentials_key: _key, ...byName } = stored;
    const named = { ...byName, cloud_credential_name: 'stored' };
    assert.match(await refused(400, 'POST', `${self}/active/r3`, named), /no object store/);
  });

  it('to repository --archive and --remove', async () => {
    assert.equal(await answer('POST', `${self}/active/r1/archive`, { id: 'old' }), null);
    await answer('POST', `${self}/active/r2/archive`, { id: 'older' });
    assert.deepEqual(await answer('GET', `${self}/active`), []);
    const { id, state, plan_name, health } = await answer('GET', `${self}/archived/old`);
    assert.deepEqual([id, state, plan_name, health], ['old', 'archived', 'p1', undefined]);
    // The tool prints a Boolean of Python.
    assert.equal(await answer('DELETE', `${self}/archived/old?remove_repository=True`), null);
    assert.equal(await answer('DELETE', `${self}/archived/older?remove_repository=False`), null);
    assert.match(await refused(404, 'GET', `${self}/archived/old`), /`old` does not exist/);
    assert.equal(await answer('DELETE', '/plan/p1'), null);
  });

  it('to plan --add and --remove over the administration port, where consoles send them', async () => {
    const { rest } = node.ready.node;
    const direct = service;
    const listed = await answer('GET', '/plan');
    service = `${rest}/_p/backup`;
    try {
      assert.deepEqual(await answer('GET', '/plan'), listed);
      assert.equal(await answer('POST', '/plan/proxied', { tasks: [backupTask] }), null);
      assert.match(await refused(404, 'GET', '/plan/gone'), /requested plan not found/);
      assert.equal(await answer('DELETE', '/plan/proxied'), null);
      const unknownUser = await fetch(`${service}/api/v1/plan`, {
        headers: { authorization: `Basic ${btoa('unknown:password')}` },
      });
      assert.equal(unknownUser.status, 401);
    } finally {
      service = direct;
    }
  });
});
