// `divan up`: one node or several, and the cloud beside them, started and stopped together.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CloudReady } from '../support/cloud-process.ts';
import { eventually, eventuallyWithin, printedBy, type Ready } from '../support/node-process.ts';

const launcher = fileURLToPath(new URL('../../bin/divan.js', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-up-'));
const startTimeoutMs = 120_000;
const started: ChildProcess[] = [];
const portNames = ['rest', 'kv', 'capi', 'dist', 'query', 'index'].flatMap((name) => [name, `${name}-tls`]);
const portFlags = [...portNames, 'replication'].flatMap((name) => [`--${name}-port`, '0']);

after(async () => {
  for (const child of started) child.kill('SIGKILL');
  await eventually(() => rmSync(scratch, { recursive: true, force: true }));
});

async function up(folder: string, ...args: string[]) {
  const readyFile = join(scratch, `${folder}-${process.hrtime.bigint()}.json`);
  const where = ['--data-dir', join(scratch, folder), '--ready-file', readyFile];
  const child = spawn(process.execPath, [launcher, 'up', ...where, ...portFlags, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const printed = printedBy(child);
  const deadline = performance.now() + startTimeoutMs;
  while (!existsSync(readyFile)) {
    assert.equal(child.exitCode, null, printed.text);
    assert.ok(performance.now() < deadline, `not ready in ${startTimeoutMs} ms: ${printed.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(statSync(readyFile).mode & 0o777, 0o600);
  const ready = JSON.parse(readFileSync(readyFile, 'utf8')) as Ready & { cloud?: CloudReady };
  return { child, ready, printed };
}

const listClouds = (cloud: CloudReady | undefined) =>
  fetch(`${cloud?.api}/v2/clouds`, { headers: { authorization: `Bearer ${cloud?.token}` } });
async function ask(cloud: CloudReady | undefined, method: string, path: string, body?: object) {
  const response = await fetch(new URL(path, cloud?.api), {
    method,
    headers: { authorization: `Bearer ${cloud?.token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { location: response.headers.get('location') ?? '', body: text === '' ? null : JSON.parse(text) };
}

const isReachable = (cloud: CloudReady | undefined) =>
  listClouds(cloud).then(
    () => true,
    () => false,
  );

test('divan up starts a node and the cloud, lists both in the ready file, and stops both', async () => {
  const { child, ready, printed } = await up('both', '--cloud-port', '0');
  assert.equal((await listClouds(ready.cloud)).status, 200);
  const login = Buffer.from(`${ready.username}:${ready.password}`).toString('base64');
  const pools = await fetch(`${ready.node.rest}/pools`, { headers: { authorization: `Basic ${login}` } });
  assert.equal(pools.status, 200);
  await eventually(() =>
    assert.match(printed.text, new RegExp(`cloud +${ready.cloud?.api} +token ${ready.cloud?.token}`)),
  );
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(await isReachable(ready.cloud), false);
  const again = await up('both', '--cloud-port', '0');
  assert.equal((await listClouds(again.ready.cloud)).status, 200);
  assert.equal(again.ready.password, ready.password);
  assert.match(printed.text, new RegExp(`login +${ready.username} +${ready.password} `));
  await eventually(() =>
    assert.match(again.printed.text, new RegExp(`login +${ready.username} +with the password of the first`)),
  );
  assert.ok(!again.printed.text.includes(ready.password as string));
});

test('divan up starts the node alone with --no-cloud, and prints the generated password on the next start if the first one did not complete', async () => {
  const first = await up('unseen', '--no-cloud');
  assert.equal(first.ready.cloud, undefined);
  assert.equal(existsSync(join(scratch, 'unseen', 'cloud')), false);
  const ended = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await ended;
  writeFileSync(join(scratch, 'unseen', 'first-start.pending'), '');
  const { child, ready, printed } = await up('unseen', '--no-cloud');
  assert.equal(ready.password, first.ready.password);
  await eventually(() =>
    assert.match(printed.text, new RegExp(`login +${ready.username} +${ready.password} `)),
  );
  assert.ok(!existsSync(join(scratch, 'unseen', 'first-start.pending')));
  child.kill('SIGKILL');
});

test('divan up does not show the value of --database in the process list, leaves no cloud running when it is killed, and starts again at once', async () => {
  // The URL of a database may contain a password.
  const database = ['--database', join(scratch, 'secret.db')];
  const { child, ready } = await up('killed', '--cloud-port', '0', ...database);
  assert.ok(existsSync(database[1] as string));
  const list = ['-ww', '--ppid', String(child.pid), '-o', 'args='];
  const { stdout } = spawnSync('ps', list, { encoding: 'utf8' });
  assert.match(stdout, / cloud --data-dir /);
  assert.ok(!stdout.includes(database[1] as string), stdout);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  const next = await up('killed', '--cloud-port', '0', ...database);
  assert.equal((await listClouds(next.ready.cloud)).status, 200);
  await eventually(async () => assert.equal(await isReachable(ready.cloud), false));
});

// A second signal ends the process at once, unless it has ended already.
for (const [times, codes] of [
  [1, [0]],
  [2, [0, 130]],
] as const)
  test(`after ${times} Ctrl-C the next start completes the creation of a cluster`, async () => {
    const folder = `stopped-${times}`;
    const { child, ready } = await up(folder, '--cloud-port', '0');
    const projectId = (await ask(ready.cloud, 'POST', '/v2/projects', { name: 'shop' })).body.id;
    const cloudId = (await ask(ready.cloud, 'GET', '/v2/clouds')).body.data[0].id;
    const body = { name: 'orders', cloudId, projectId };
    const creation = await ask(ready.cloud, 'POST', '/v2/clusters', body);
    const nodes = join(scratch, folder, 'cloud', 'nodes');
    await eventually(() => assert.ok(existsSync(nodes)));
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    if (times === 2) {
      // Sent after the first was handled: two concurrent signals count as one.
      await new Promise((resolve) => setTimeout(resolve, 10));
      child.kill('SIGINT');
    }
    const [code] = (await ended) as [0 | 130];
    assert.ok(
      codes.some((expected) => expected === code),
      String(code),
    );
    await eventually(async () => assert.equal(await isReachable(ready.cloud), false));
    const again = await up(folder, '--cloud-port', '0');
    await eventually(async () => {
      const { body } = await ask(again.ready.cloud, 'GET', creation.location);
      assert.equal(body.status, 'ready');
    });
    const stopped = once(again.child, 'exit');
    again.child.kill('SIGINT');
    assert.deepEqual(await stopped, [0, null]);
    const { stdout } = spawnSync('pgrep', ['-f', join(scratch, folder)], { encoding: 'utf8' });
    assert.equal(stdout, '');
  });

test('divan up reports that the port of the cloud is in use, and ends', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const args = ['up', '--data-dir', join(scratch, 'used'), ...portFlags, '--cloud-port', String(port)];
  const { status, stderr } = spawnSync(process.execPath, [launcher, ...args], {
    encoding: 'utf8',
    timeout: startTimeoutMs,
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, new RegExp(`--port: cannot listen on 127.0.0.1:${port}: the port is in use`));
  assert.match(stderr, /the cloud did not start: choose another port with --cloud-port/);
  other.close();
});

test('--nodes starts a cluster of several nodes, restarts one that was killed, and stops all of them', async () => {
  const args = ['--no-cloud', '--nodes', '2', '--services', 'kv', '--memory-quota', '256'];
  const { child, ready } = await up('several', ...args);
  const pair = Buffer.from(`${ready.username}:${ready.password}`).toString('base64');
  const asAdministrator = { headers: { authorization: `Basic ${pair}` } };
  const answer = await fetch(`${ready.node.rest}/pools/default`, asAdministrator);
  const { nodes } = (await answer.json()) as { nodes: { hostname: string; clusterMembership: string }[] };
  assert.deepEqual(
    nodes.map(({ clusterMembership }) => clusterMembership),
    ['active', 'active'],
  );
  const other = `http://${nodes[1]?.hostname}/pools`;
  assert.equal((await fetch(other, asAdministrator)).status, 200);
  const second = async () => {
    const answer = await fetch(`${ready.node.rest}/pools/default`, asAdministrator);
    const { nodes } = (await answer.json()) as { nodes: { hostname: string; status: string }[] };
    assert.equal(nodes[1]?.status, 'healthy');
    return fetch(`http://${nodes[1]?.hostname}/pools/default`, asAdministrator);
  };
  await eventually(async () => assert.equal((await second()).status, 200));
  const [killed = ''] = spawnSync('pgrep', ['-P', `${child.pid}`, '-f', 'node-2'], {
    encoding: 'utf8',
  }).stdout.split('\n');
  process.kill(Number(killed), 'SIGKILL');
  await eventuallyWithin(startTimeoutMs, async () => {
    const running = spawnSync('pgrep', ['-P', `${child.pid}`, '-f', 'node-2'], { encoding: 'utf8' }).stdout;
    assert.notEqual(running.trim(), '');
    assert.notEqual(running.trim(), killed);
    assert.equal((await second()).status, 200);
  });
  assert.equal(child.exitCode, null);
  child.kill('SIGTERM');
  await once(child, 'exit');
  await eventually(() => assert.rejects(fetch(other)));
});

test('--nodes refuses more nodes than a cluster may have', () => {
  const args = [launcher, 'up', '--data-dir', join(scratch, 'many'), '--nodes', '28'];
  const { stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.match(stderr, /--nodes: "28" is not a whole number from 1 to 27/);
  assert.equal(status, 2);
  const named = spawnSync(process.execPath, [...args.slice(0, -1), '2', '--node-name', 'a'], {
    encoding: 'utf8',
  });
  assert.match(named.stderr, /--node-name is for one node/);
  assert.equal(named.status, 2);
});
