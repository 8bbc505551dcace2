// Access to the cloud: roles, signed requests, tokens and their limits, and the commands with which operators add them.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createToken, operator } from '../support/cloud-operator.ts';
import { CloudProcess } from '../support/cloud-process.ts';
import { eventually } from '../support/node-process.ts';

async function aProject(cloud: CloudProcess, name: string): Promise<string> {
  return (await cloud.request('POST', '/v2/projects', { name })).body.id;
}

describe('one cloud', () => {
  let cloud: CloudProcess;
  before(async () => {
    cloud = await CloudProcess.start();
  });
  after(() => cloud?.[Symbol.asyncDispose]());

  test('permits each role its operations, and lists only the projects that the role may read', async () => {
    const [mine, other] = [await aProject(cloud, 'mine'), await aProject(cloud, 'other')];
    const tokens = {
      organizationOwner: createToken(cloud, '--role', 'organizationOwner').token,
      projectOwner: createToken(cloud, '--role', 'projectOwner', '--project', mine).token,
      projectViewer: createToken(cloud, '--role', 'projectViewer', '--project', mine).token,
      reader: createToken(cloud, '--role', 'reader').token,
    };
    /** A request for a cluster in a cloud that does not exist. */
    const cluster = (projectId: string) => ({
      name: 'xx',
      projectId,
      cloudId: '00000000-0000-4000-8000-000000000000',
    });
    // An authorized caller gets 422 for a wrong request, any other 403.
    const expected: [
      method: string,
      path: string,
      body: unknown,
      statuses: Record<keyof typeof tokens, number>,
    ][] = [
      [
        'GET',
        '/v2/clouds',
        undefined,
        { organizationOwner: 200, projectOwner: 200, projectViewer: 200, reader: 200 },
      ],
      [
        'GET',
        '/v2/users',
        undefined,
        { organizationOwner: 200, projectOwner: 403, projectViewer: 403, reader: 200 },
      ],
      [
        'GET',
        `/v2/projects/${mine}`,
        undefined,
        { organizationOwner: 200, projectOwner: 200, projectViewer: 200, reader: 200 },
      ],
      [
        'GET',
        `/v2/projects/${other}`,
        undefined,
        { organizationOwner: 200, projectOwner: 403, projectViewer: 403, reader: 200 },
      ],
      [
        'POST',
        '/v2/projects',
        { name: 'new' },
        { organizationOwner: 201, projectOwner: 403, projectViewer: 403, reader: 403 },
      ],
      [
        'DELETE',
        `/v2/projects/${mine}x`,
        undefined,
        { organizationOwner: 422, projectOwner: 403, projectViewer: 403, reader: 403 },
      ],
      [
        'POST',
        '/v2/projects',
        { unheardOf: 1 },
        { organizationOwner: 422, projectOwner: 403, projectViewer: 403, reader: 403 },
      ],
      [
        'GET',
        '/v2/users?page=0',
        undefined,
        { organizationOwner: 422, projectOwner: 403, projectViewer: 403, reader: 422 },
      ],
      [
        'POST',
        '/v2/clusters',
        cluster(mine),
        { organizationOwner: 422, projectOwner: 422, projectViewer: 403, reader: 403 },
      ],
      [
        'POST',
        '/v2/clusters',
        cluster(other),
        { organizationOwner: 422, projectOwner: 403, projectViewer: 403, reader: 403 },
      ],
    ];
    for (const [method, path, body, statuses] of expected) {
      for (const [role, status] of Object.entries(statuses)) {
        const answer = await cloud.request(method, path, body, tokens[role as keyof typeof tokens]);
        assert.equal(answer.status, status, `${role} ${method} ${path}: ${JSON.stringify(answer.body)}`);
      }
    }
    const seen = await cloud.request('GET', '/v2/projects?sortBy=name.asc', undefined, tokens.projectViewer);
    assert.deepEqual(
      seen.body.data.map(({ name }: { name: string }) => name),
      ['mine'],
    );
  });

  test('accepts signed requests, and names what is wrong in others', async () => {
    const { accessKey, secretKey } = createToken(cloud, '--role', 'reader');
    const path = '/v2/clouds?perPage=5';
    const now = Math.floor(Date.now() / 1000);
    const send = async (change: {
      signedMethod?: string;
      signedPath?: string;
      signedTime?: number;
      key?: string;
      secret?: string;
      /** The header with the time; null: none. */
      sentTime?: string | null;
    }) => {
      const signedTime = String(change.signedTime ?? now);
      const signature = createHmac('sha256', change.secret ?? secretKey)
        .update(`${change.signedMethod ?? 'GET'}\n${change.signedPath ?? path}\n${signedTime}`)
        .digest('base64');
      const sentTime = change.sentTime === undefined ? signedTime : change.sentTime;
      const response = await fetch(new URL(path, cloud.ready.api), {
        headers: {
          authorization: `Bearer ${change.key ?? accessKey}:${signature}`,
          ...(sentTime !== null && { 'couchbase-timestamp': sentTime }),
        },
      });
      return { status: response.status, message: ((await response.json()) as { message?: string }).message };
    };
    assert.equal((await send({})).status, 200);
    // Published clients send seconds or milliseconds, and sign the path or the whole URL.
    assert.equal((await send({ signedTime: now * 1000 })).status, 200);
    assert.equal((await send({ signedPath: `${cloud.ready.api}${path}` })).status, 200);
    const wrong: [Parameters<typeof send>[0], RegExp][] = [
      [{ signedPath: '/v2/clouds' }, /signature/],
      [{ signedMethod: 'POST' }, /signature/],
      [{ secret: 'another' }, /signature/],
      [{ sentTime: String(now - 1) }, /signature/],
      // Times that differ by at most 300 s are accepted.
      [{ signedTime: now - 400 }, /Couchbase-Timestamp differs from the server.s time by \d+ s/],
      [{ sentTime: null }, /needs the header Couchbase-Timestamp/],
      [{ key: 'unknown' }, /access key/],
    ];
    for (const [change, message] of wrong) {
      const answer = await send(change);
      assert.equal(answer.status, 401, JSON.stringify(change));
      assert.match(answer.message ?? '', message);
    }
  });

  test('applies changes of operators from the next request on, despite cached answers', async () => {
    const clouds = async (): Promise<string[]> =>
      (await cloud.request('GET', '/v2/clouds')).body.data.map(({ name }: { name: string }) => name);
    const { token, id } = createToken(cloud, '--role', 'reader');
    // Repeated, so that the cloud has cached answers.
    for (let request = 1; request <= 20; request++) {
      assert.deepEqual(await clouds(), ['local']);
      assert.equal((await cloud.request('GET', '/v2/clouds', undefined, token)).status, 200);
    }
    const east = ['--name', 'east', '--provider', 'aws', '--region', 'us-east-1', '--cidr', '10.1.0.0/16'];
    assert.equal(operator(cloud, 'cloud', 'add', ...east).status, 0);
    assert.deepEqual(await clouds(), ['east', 'local']);
    assert.equal(operator(cloud, 'token', 'revoke', id).status, 0);
    assert.equal((await cloud.request('GET', '/v2/clouds', undefined, token)).status, 401);
    const { token: another } = createToken(cloud, '--role', 'reader');
    assert.equal((await cloud.request('GET', '/v2/clouds', undefined, another)).status, 200);
  });

  test('accepts a token until it is revoked, and the token that a start prints until the next start', async () => {
    const { id, token } = createToken(cloud, '--role', 'reader', '--expires', '1h');
    assert.equal((await cloud.request('GET', '/v2/clouds', undefined, token)).status, 200);
    const listed = operator(cloud, 'token', 'list');
    assert.match(listed.stdout, new RegExp(id));
    assert.doesNotMatch(listed.stdout, new RegExp(token));
    assert.equal(operator(cloud, 'token', 'revoke', id).status, 0);
    assert.equal((await cloud.request('GET', '/v2/clouds', undefined, token)).status, 401);
    assert.equal(operator(cloud, 'token', 'revoke', id).status, 4);
    await cloud.stop();
    await using next = await CloudProcess.start({ dataDir: cloud.dataDir });
    assert.equal((await next.request('GET', '/v2/clouds', undefined, cloud.ready.token)).status, 401);
    assert.equal((await next.request('GET', '/v2/clouds')).status, 200);
  });
});

test('the cloud limits how often a token is used', async () => {
  await using cloud = await CloudProcess.start({ args: ['--rate-limit', '1'] });
  // Repeated, since a busy machine may take so long for the requests that the limit of one a second refuses none.
  await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => cloud.request('GET', '/v2/clouds')));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length >= 2, String(refused.length));
    assert.match(refused[0]?.headers.get('retry-after') ?? '', /^\d+$/);
  });
});

test('clouds, users and tokens come from commands of the operator and from the configuration file', async () => {
  await using cloud = await CloudProcess.start();
  const add = ['cloud', 'add', '--name', 'east', '--provider', 'azure', '--cidr', '10.1.0.0/16', '--region'];
  assert.equal(operator(cloud, ...add, 'eastus').status, 0);
  assert.match(operator(cloud, ...add, 'us-east-1').stderr, /region: must be one of centralus/);
  assert.equal(operator(cloud, 'user', 'add', 'Ada', 'ada@example.com').status, 0);
  assert.match(operator(cloud, 'user', 'add', 'Ada', 'nowhere').stderr, /EMAIL: must be an e-mail address/);
  assert.match(operator(cloud, 'token', 'create', '--role', 'projectOwner').stderr, /--project/);
  assert.match(operator(cloud, 'token', 'burn').stderr, /token revoke ID/);
  await cloud.stop();
  const config = join(cloud.dataDir, 'config.json');
  const token = 'a-token-that-the-operator-made-up-himself';
  const west = { name: 'west', provider: 'gcp', region: 'us-west1', cidr: '10.2.0.0/16' };
  writeFileSync(config, JSON.stringify({ clouds: [west], tokens: [{ role: 'reader', token }] }));
  // The second start finds what the first one has added from the file.
  for (let start = 1; start <= 2; start++) {
    await using again = await CloudProcess.start({ dataDir: cloud.dataDir, args: ['--config', config] });
    const { body } = await again.request('GET', '/v2/clouds?sortBy=name.desc', undefined, token);
    assert.deepEqual(
      body.data.map(({ name, region }: { name: string; region: string }) => [name, region]),
      [
        ['west', 'us-west1'],
        ['local', 'us-east-1'],
        ['east', 'eastus'],
      ],
    );
    const users = await again.request('GET', '/v2/users?sortBy=email.asc', undefined, token);
    assert.equal(users.body.data[0].email, 'ada@example.com');
  }
});
