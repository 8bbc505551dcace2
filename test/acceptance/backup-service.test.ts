// The backup service of a real node: plans, repositories, backups, merges and restores, with good and bad requests.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BackupApi, self } from '../support/backup-api.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { NodeProcess } from '../support/node-process.ts';

const nightly = {
  services: ['data', 'gsi'],
  description: 'each night',
  tasks: [
    {
      name: 'night',
      task_type: 'BACKUP',
      full_backup: true,
      schedule: { job_type: 'BACKUP', frequency: 1, period: 'DAYS', time: '22:00' },
      options: null,
    },
    {
      name: 'month',
      task_type: 'MERGE',
      full_backup: null,
      schedule: { job_type: 'MERGE', frequency: 4, period: 'WEEKS', time: '23:00' },
      options: { offset_start: 0, offset_end: 28 },
    },
  ],
};

describe('the backup service', () => {
  let node: NodeProcess;
  let api: BackupApi;
  const archive = (name: string): string => join(node.dataDir, 'backups', name);
  const store = async (bucket: string, key: string, value: unknown): Promise<void> => {
    const path = `/pools/default/buckets/${bucket}/docs/${key}`;
    assert.equal((await node.request(path, 'POST', { value: JSON.stringify(value) })).status, 200);
  };

  before(async () => {
    node = await NodeProcess.start({
      args: ['--services', 'kv,index,n1ql,backup', '--bucket', 'travel', '--bucket', 'other'],
    });
    api = new BackupApi(node);
    await store('travel', 'first', { n: 1 });
    await store('travel', 'second', { n: 2 });
  });
  after(() => node?.[Symbol.asyncDispose]());

  it('is advertised with both of its ports', async () => {
    const { backup = '', backupTls = '' } = node.ready.node;
    const { nodesExt } = (await (await node.request('/pools/default/nodeServices')).json()) as {
      nodesExt: { services: Record<string, number> }[];
    };
    const { backupAPI, backupAPIHTTPS } = nodesExt[0]?.services ?? {};
    assert.deepEqual([backupAPI, backupAPIHTTPS].map(String), [
      new URL(backup).port,
      new URL(backupTls).port,
    ]);
    const pool = (await (await node.request('/pools/default')).json()) as { nodes: { services: string[] }[] };
    assert.ok(pool.nodes[0]?.services.includes('backup'));
  });

  it('changes its settings within their ranges, and refuses other values', async () => {
    assert.deepEqual(await api.json('GET', '/config'), {
      history_rotation_period: 30,
      history_rotation_size: 50,
    });
    await api.json('PATCH', '/config', { history_rotation_size: 51 });
    await api.json('PUT', '/config', { history_rotation_period: 365 });
    await api.json('POST', '/config', { history_rotation_size: 200 });
    assert.deepEqual(await api.json('GET', '/config'), {
      history_rotation_period: 365,
      history_rotation_size: 200,
    });
    const wrong: [body: unknown, extras: RegExp][] = [
      [{ history_rotation_size: 4 }, /history_rotation_size: must be an integer from 5 to 200/],
      [{ history_rotation_period: 366 }, /history_rotation_period: must be an integer from 1 to 365/],
      [{ history_rotation_period: '30' }, /history_rotation_period: must be an integer/],
      [{ rotation: 1 }, /rotation: is not a field here; the fields are history_rotation_period/],
      [{}, /give history_rotation_period or history_rotation_size/],
      ['{', /not JSON/],
      ['{}{}', /not JSON/],
      ['[]', /must be an object/],
      ['', /not JSON/],
    ];
    for (const [body, extras] of wrong) {
      const refused = await api.refusal('POST', '/config', body);
      assert.deepEqual([refused.status, refused.msg], [400, 'invalid request body']);
      assert.match(refused.extras ?? '', extras);
    }
  });

  it('has two predefined plans that cannot be changed, and stores others', async () => {
    const plans = await api.json('GET', '/plan');
    assert.deepEqual(
      plans.map((plan: { name: string; default: boolean }) => [plan.name, plan.default]),
      [
        ['_daily_backups', true],
        ['_hourly_backups', true],
      ],
    );
    await api.json('POST', '/plan/nightly', nightly);
    const { name, tasks, description, services } = await api.json('GET', '/plan/nightly');
    assert.deepEqual([name, description, services], ['nightly', 'each night', ['data', 'gsi']]);
    assert.deepEqual(tasks[0], {
      name: 'night',
      task_type: 'BACKUP',
      schedule: { job_type: 'BACKUP', frequency: 1, period: 'DAYS', time: '22:00' },
      options: null,
      full_backup: true,
    });
    assert.deepEqual(tasks[1].options, { offset_start: 0, offset_end: 28 });
    assert.equal(
      (await api.refusal('POST', '/plan/nightly', nightly)).msg,
      'a plan with the name nightly exists',
    );
    await api.json('PUT', '/plan/nightly', { ...nightly, description: 'later' });
    assert.equal((await api.json('GET', '/plan/nightly')).description, 'later');
    await api.json('POST', '/plan/other', { description: 'empty' });
    assert.deepEqual((await api.json('GET', '/plan/other')).tasks, []);
    await api.json('DELETE', '/plan/other');
    assert.deepEqual(await api.refusal('GET', '/plan/other'), {
      status: 404,
      msg: 'requested plan not found',
    });
    assert.equal((await api.refusal('DELETE', '/plan/other')).status, 404);
    assert.equal((await api.refusal('PUT', '/plan/other', nightly)).status, 404);
    for (const method of ['PUT', 'DELETE'])
      assert.match((await api.refusal(method, '/plan/_daily_backups', nightly)).msg, /predefined plan/);
    assert.match((await api.refusal('POST', '/plan/-x', nightly)).msg, /plan id must follow the rules/);
  });

  it('refuses wrong plans and names the field', async () => {
    const task = (changes: object) => ({ tasks: [{ ...nightly.tasks[0], ...changes }] });
    const schedule = (changes: object) =>
      task({ schedule: { job_type: 'BACKUP', frequency: 1, period: 'HOURS', ...changes } });
    const wrong: [body: unknown, extras: RegExp][] = [
      [schedule({ frequency: 0 }), /^tasks\.0\.schedule\.frequency: must be an integer from 1 to 200$/],
      [schedule({ frequency: 201 }), /^tasks\.0\.schedule\.frequency/],
      [schedule({ frequency: 1.5 }), /^tasks\.0\.schedule\.frequency/],
      [schedule({ time: '24:61' }), /^tasks\.0\.schedule\.time: must be a time from 00:00 to 23:59$/],
      [schedule({ time: 22 }), /^tasks\.0\.schedule\.time/],
      [schedule({ period: 'YEARS' }), /^tasks\.0\.schedule\.period: must be one of MINUTES/],
      [schedule({ job_type: 'MERGE' }), /^tasks\.0\.schedule\.job_type: must be the task_type, BACKUP$/],
      [task({ task_type: 'RESTORE' }), /^tasks\.0\.task_type/],
      [task({ full_backup: 'yes' }), /^tasks\.0\.full_backup: must be true or false$/],
      [task({ options: { offset_start: 0, offset_end: 1 } }), /^tasks\.0\.options: only a merge/],
      [task({ name: 'a b' }), /^tasks\.0\.name/],
      [task({ extra: 1 }), /^tasks\.0\.extra: is not a field here/],
      [{ tasks: [nightly.tasks[1]] }, /^tasks: a plan with a merge needs a backup too$/],
      [{ tasks: [nightly.tasks[0], nightly.tasks[0]] }, /^tasks: two tasks have the name "night"$/],
      [{ tasks: Array(101).fill(nightly.tasks[0]) }, /^tasks: must be a list of at most 100$/],
      [{ tasks: {} }, /^tasks: must be a list/],
      [{ services: ['data', 'mail'] }, /^services\.1: must be one of data, gsi/],
      [{ services: ['gsi'] }, /^services: must contain data/],
      [{ default: true }, /^default: must be false/],
      [{ name: 'another' }, /^name: must be that of the path, "wrong"$/],
      [{ description: 'x'.repeat(141) }, /^description/],
      ['null', /must be an object/],
    ];
    for (const [body, extras] of wrong) {
      const refused = await api.refusal('POST', '/plan/wrong', body);
      assert.deepEqual([refused.status, refused.msg], [400, 'invalid plan']);
      assert.match(refused.extras ?? '', extras);
    }
    assert.equal((await api.send('GET', '/plan/wrong')).status, 404);
  });

  it('creates repositories in allowed places only', async () => {
    await api.json('POST', `${self}/active/travel`, {
      plan: 'nightly',
      archive: archive('travel'),
      bucket_name: 'travel',
    });
    const { id, state, plan_name, bucket, health, scheduled, repo } = await api.repository('travel');
    assert.deepEqual([id, state, plan_name, bucket?.name], ['travel', 'active', 'nightly', 'travel']);
    assert.deepEqual(health, { healthy: true });
    assert.match(repo, /^[0-9a-f-]{36}$/);
    assert.match(scheduled?.['night']?.next_run ?? '', /T22:00:00\.000(Z|[+-]\d\d:\d\d)$/);
    assert.equal((await api.json('GET', `${self}/active`)).length, 1);
    assert.deepEqual(Object.keys((await api.json('GET', '/cluster/self')).active), ['travel']);
    const elsewhere = mkdtempSync(join(tmpdir(), 'divan-elsewhere-'));
    try {
      mkdirSync(archive('used'), { recursive: true });
      writeFileSync(join(archive('used'), 'letter.txt'), 'mine');
      symlinkSync(elsewhere, archive('out'));
      writeFileSync(archive('file'), '');
      const wrong: [archive: string, extras: RegExp][] = [
        ['backups/x', /not an absolute path/],
        [`${archive('x')}/../../..`, /not an absolute path/],
        [elsewhere, /is not below .*backups; the option --backup-root/],
        [join(node.dataDir, 'backups'), /is not below/],
        [archive('used'), /has other files, such as letter\.txt/],
        [archive('out'), /leads to .*, which is not below/],
        [join(archive('out'), 'inner'), /leads to .*, which is not below/],
        [archive('file'), /\/file: EEXIST/],
        ['s3://bucket/folder', /no object store is configured/],
        [archive('travel'), /is the archive of repository travel/],
        [`${archive('travel')}/`, /is the archive of repository travel/],
      ];
      for (const [where, extras] of wrong) {
        const refused = await api.refusal('POST', `${self}/active/wrong`, {
          plan: 'nightly',
          archive: where,
        });
        assert.deepEqual([refused.status, refused.msg], [400, 'invalid archive location'], where);
        assert.match(refused.extras ?? '', extras);
      }
      assert.deepEqual(readdirSync(elsewhere), []);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
    const good = { plan: 'nightly', archive: archive('new') };
    const create = (name: string, body: unknown) => api.refusal('POST', `${self}/active/${name}`, body);
    assert.match((await create('travel', good)).msg, /a repository with the id `travel` exists/);
    assert.equal((await create('new', { ...good, plan: 'unknown' })).status, 404);
    assert.equal(
      (await create('new', { ...good, bucket_name: 'unknown' })).msg,
      'bucket `unknown` does not exist',
    );
    assert.equal(
      (await create('-new', good)).msg,
      'repository id must follow the rules ^[0-9A-Za-z][0-9A-Za-z_-]{0,49}$',
    );
    assert.equal((await create('n'.repeat(51), good)).status, 400);
    assert.match((await create('new', { plan: 'nightly' })).extras ?? '', /^archive: must be a text/);
    assert.match((await create('new', { ...good, more: 1 })).extras ?? '', /^more: is not a field here/);
    for (const [field, value] of Object.entries({
      cloud_credential_name: 'a',
      cloud_staging_dir: 'a',
      cloud_credentials_id: 'a',
      cloud_region: 'a',
      cloud_credentials_key: 'a',
      cloud_credentials_refresh_token: 'a',
      cloud_endpoint: 'a',
      cloud_force_path_style: true,
    }))
      assert.match(
        (await create('new', { ...good, [field]: value })).extras ?? '',
        RegExp(`^${field}: must be left`),
      );
    assert.equal(existsSync(archive('new')), false);
    assert.deepEqual(await api.refusal('GET', '/cluster/other'), {
      status: 400,
      msg: 'Remote clusters not supported',
      extras: 'Invalid cluster: other',
    });
    assert.equal((await api.refusal('GET', `${self}/gone`)).status, 400);
    assert.equal((await api.refusal('GET', `${self}/active/gone`)).status, 404);
    assert.equal(
      (await api.refusal('DELETE', '/plan/nightly')).msg,
      'cannot update plan as it is in use by repository: travel',
    );
  });

  it('backs up, examines, merges and restores', async () => {
    assert.deepEqual(await api.info('travel').then(({ count, size }) => [count, size]), [0, 0]);
    const full = await api.run('travel', 'backup', { full_backup: true });
    assert.deepEqual([full.status, full.type, full.error], ['done', 'BACKUP', undefined]);
    assert.match(full.task_name, /^BACKUP-[0-9a-f-]{36}$/);
    assert.match(full.node_runs[0]?.stats.transfers[0]?.description ?? '', /^Backing up to \d{4}-/);
    await store('travel', 'first', { n: 3 });
    assert.equal((await api.run('travel', 'backup', '')).status, 'done');
    const { backups, name } = await api.info('travel');
    assert.deepEqual(
      backups.map(({ type, complete }) => [type, complete]),
      [
        ['FULL', true],
        ['INCR', true],
      ],
    );
    assert.equal(name, (await api.repository('travel')).repo);
    const key = { key: 'first', data_path: 'travel._default._default' };
    const versions = (await (await api.send('POST', `${self}/active/travel/examine`, key)).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      versions.map(({ value, deleted, metadata }) => [value, deleted, metadata.locktime]),
      [
        [{ n: 1 }, false, 0],
        [{ n: 3 }, false, 0],
      ],
    );
    const merged = await api.run('travel', 'merge', { offset_start: 0, offset_end: 2 });
    assert.equal(merged.status, 'done', merged.error);
    assert.deepEqual(
      (await api.info('travel')).backups.map(({ type }) => type),
      ['MERGE - FULL'],
    );
    const restored = await api.run('travel', 'restore', { map_data: 'travel=other' });
    assert.equal(restored.status, 'done', restored.error);
    const access = backupNode(node);
    assert.deepEqual(differences(await stateOf(access, 'travel'), await stateOf(access, 'other')), []);
    const tasks = (await api.history('travel')).map(({ type }) => type);
    assert.deepEqual(tasks, ['RESTORE', 'MERGE', 'BACKUP', 'BACKUP']);
    assert.equal((await api.history('travel', 'active', '?limit=1')).length, 1);
    assert.equal((await api.history('travel', 'active', `?taskName=${full.task_name}`)).length, 1);
    assert.equal((await api.history('travel', 'active', '?first=2100-01-01T00:00:00Z')).length, 0);
    for (const query of ['?limit=0', '?limit=x', '?first=yesterday', '?first=2100'])
      assert.equal((await api.refusal('GET', `${self}/active/travel/taskHistory${query}`)).status, 400);
  });

  it('restores into the target that a request names, with its account, and reports what fails', async () => {
    const { rest } = node.ready.node;
    const target = { target: rest, user: 'Administrator', password: 'password', map_data: 'travel=third' };
    const missing = await api.run('travel', 'restore', target);
    assert.equal(missing.status, 'failed');
    assert.match(missing.error ?? '', /no bucket "third"/);
    const task = await api.run('travel', 'restore', {
      ...target,
      auto_create_buckets: true,
      filter_keys: '^first$',
    });
    assert.equal(task.status, 'done', task.error);
    assert.deepEqual([...(await stateOf(backupNode(node), 'third')).keys()], ['_default._default/first']);
    const refused = await api.run('travel', 'restore', { ...target, password: 'wrong' });
    assert.match(refused.error ?? '', /refuses the user "Administrator"/);
    const gone = await api.run('travel', 'restore', { ...target, target: 'http://127.0.0.1:1' });
    assert.match(gone.error ?? '', /cannot reach 127\.0\.0\.1:1/);
    const wrong: [body: unknown, extras: RegExp][] = [
      [{ user: 'x', password: 'y' }, /^target: is missing/],
      [{ target: rest }, /^user: is missing/],
      [{ target: 'ftp://host:18091', user: 'x', password: 'y' }, /^target: must be the address of a node/],
      [{ replace_ttl: 'some' }, /^replace_ttl: must be one of none, all, expired$/],
      [{ replace_ttl: 'all' }, /^replace_ttl_with: is missing/],
      [{ replace_ttl_with: '0' }, /^replace_ttl: must be all or expired/],
      [{ replace_ttl: 'all', replace_ttl_with: 'soon' }, /^replace_ttl_with: must be "0" or a time/],
      [{ force_updates: 1 }, /^force_updates: must be true or false$/],
      [{ filter: 'x' }, /^filter: is not a field here/],
    ];
    for (const [body, extras] of wrong) {
      const answer = await api.refusal('POST', `${self}/active/travel/restore`, body);
      assert.equal(answer.status, 400);
      assert.match(answer.extras ?? '', extras);
    }
    const pattern = await api.run('travel', 'restore', { filter_keys: '(' });
    assert.match(pattern.error ?? '', /regular expression/);
    const unknown = await api.refusal('POST', `${self}/active/unknown/backup`, {});
    assert.deepEqual(unknown, { status: 404, msg: 'repository `unknown` does not exist' });
  });

  it('pauses, archives, imports and deletes repositories', async () => {
    await api.json('POST', `${self}/active/travel/pause`);
    await api.json('POST', `${self}/active/travel/pause`);
    assert.equal((await api.repository('travel')).state, 'paused');
    await api.json('POST', `${self}/active/travel/resume`);
    assert.equal((await api.repository('travel')).state, 'active');
    assert.equal((await api.refusal('DELETE', `${self}/active/travel`)).status, 400);
    assert.equal((await api.refusal('POST', `${self}/active/travel/archive`, { id: '' })).status, 400);
    await api.json('POST', `${self}/active/travel/archive`, { id: 'old' });
    assert.equal((await api.send('GET', `${self}/active/travel`)).status, 404);
    const { repo } = await api.repository('old', 'archived');
    assert.equal((await api.info('old', 'archived')).count, 1);
    assert.equal((await api.run('old', 'restore', { map_data: 'travel=other' }, 'archived')).status, 'done');
    await api.json('DELETE', `${self}/archived/old?remove_repository=False`);
    assert.ok(existsSync(join(archive('travel'), repo)));
    const imported = { id: 'found', archive: archive('travel'), repo };
    await api.json('POST', `${self}/import`, imported);
    assert.equal((await api.info('found', 'imported')).count, 1);
    assert.ok((await api.history('found', 'imported')).length > 0);
    assert.match((await api.refusal('POST', `${self}/import`, imported)).msg, /exists/);
    assert.equal((await api.refusal('POST', `${self}/import`, { ...imported, id: 'again' })).status, 400);
    for (const name of ['..', '../x', 'missing', ''])
      assert.equal(
        (await api.refusal('POST', `${self}/import`, { ...imported, id: 'x', repo: name })).status,
        400,
      );
    assert.equal((await api.refusal('DELETE', `${self}/imported/found?remove_repository=yes`)).status, 400);
    await api.json('DELETE', `${self}/imported/found`);
    await api.json('DELETE', '/plan/nightly');
  });

  it('deletes backups and the data of archived repositories', async () => {
    await api.json('POST', `${self}/active/all`, { plan: '_daily_backups', archive: archive('all') });
    for (const full_backup of [true, false])
      assert.equal((await api.run('all', 'backup', { full_backup })).status, 'done');
    const [first, second] = (await api.info('all')).backups.map(({ date }) => date);
    const continued = await api.refusal('DELETE', `${self}/active/all/backups/${first}`);
    assert.deepEqual([continued.status, continued.msg], [500, 'could not remove backup']);
    assert.match(continued.extras ?? '', /continues/);
    await api.json('DELETE', `${self}/active/all/backups/${second}`);
    assert.equal((await api.info('all')).count, 1);
    assert.match(
      (await api.refusal('DELETE', `${self}/active/all/backups/none`)).extras ?? '',
      /has no backup/,
    );
    await api.json('POST', `${self}/active/all/archive`, { id: 'all' });
    await api.json('DELETE', `${self}/archived/all?remove_repository=True`);
    assert.deepEqual(readdirSync(archive('all')), []);
    assert.equal((await api.send('GET', `${self}/archived/all`)).status, 404);
  });
});
