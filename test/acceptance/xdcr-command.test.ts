// `divan xdcr` with two real nodes: output, JSON and exit status.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCommand } from '../support/command.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { nodeEnvironment } from '../support/remote-command.ts';
import { clientOf, contentOf, hostOf } from '../support/xdcr.ts';

const timeout = 240_000;
const waitMs = 120_000;
let source: NodeProcess;
let target: NodeProcess;

before(async () => {
  [source, target] = await Promise.all([
    NodeProcess.start({ args: ['--bucket', 'b'] }),
    NodeProcess.start({ args: ['--bucket', 'b', '--bucket', 'c'] }),
  ]);
});
after(async () => {
  await source?.[Symbol.asyncDispose]();
  await target?.[Symbol.asyncDispose]();
});

const run = (...words: string[]) =>
  runCommand(['xdcr', ...words], {
    ...nodeEnvironment(source),
    DIVAN_REMOTE_PASSWORD: administrator.password,
  });

async function done(...words: string[]): Promise<string> {
  const { status, out, error } = await run(...words);
  assert.deepEqual([status, error], [0, ''], words.join(' '));
  return out;
}

async function failed(expected: number, message: RegExp, ...words: string[]): Promise<void> {
  const { status, out, error } = await run(...words);
  assert.deepEqual([status, out], [expected, ''], `${words.join(' ')}: ${error}`);
  assert.match(error, message);
  assert.doesNotMatch(error, /\n {4}at /);
}

const listed = async () => JSON.parse(await done('list', '--json'));

test('divan xdcr connects a cluster, replicates to it, changes, pauses and deletes the replication', {
  timeout,
}, async () => {
  assert.match(await done('list'), /^no other clusters/);
  const account = ['--remote-username', administrator.username];
  await failed(1, /Could not connect/, 'connect', 'there', '127.0.0.1:1', ...account);
  await failed(1, /username must be given/, 'connect', 'there', hostOf(target));
  await done('connect', 'there', hostOf(target), ...account);
  const rules = '{"_default":"_default"}';
  await done('replicate', 'b', 'there', '--filter', 'EXISTS(a)', '--rules', rules);
  await done('replicate', 'b', 'there', 'c', '--set', 'filterDeletion=true', '--set', 'statsInterval=200');
  const client = await clientOf(source);
  const stored = { kind: 'set' as const, value: Buffer.from('{"a":1}'), expiry: 0, cas: 0n };
  await client.storeMany(0, [{ ...stored, key: 'k' }]);
  client.close();
  await eventuallyWithin(waitMs, async () => {
    for (const bucket of ['b', 'c'])
      assert.deepEqual([...(await contentOf(target, bucket)).keys()], ['_default._default/k']);
  });
  assert.match(await done('list'), /^cluster +address .*\nthere .*\n\nbucket +cluster +target/);
  assert.match(await done('pause', 'b', 'there', 'c'), /pauses/);
  await eventuallyWithin(waitMs, async () => {
    const { clusters, replications } = await listed();
    assert.equal(clusters[0].name, 'there');
    assert.deepEqual(
      replications.map(({ bucket, target: to, status }: Record<string, string>) => [bucket, to, status]),
      [
        ['b', 'b', 'running'],
        ['b', 'c', 'paused'],
      ],
    );
  });
  await done('resume', 'b', 'there', 'c');
  const edited = JSON.parse(await done('edit', 'b', 'there', '--set', 'priority=low', '--json'));
  assert.deepEqual([edited.priority, edited.colMappingRules], ['Low', JSON.parse(rules)]);
  await failed(1, /referenced by replications/, 'disconnect', 'there');
  await done('delete', 'b', 'there');
  await done('delete', 'b', 'there', 'c');
  await done('disconnect', 'there');
  assert.deepEqual(await listed(), { clusters: [], replications: [] });
});

test('divan xdcr names what is wrong on the command line, and what does not exist', { timeout }, async () => {
  await failed(2, /CLUSTER is missing; the form is divan xdcr replicate BUCKET CLUSTER/, 'replicate', 'b');
  await failed(2, /--set: "x" is not of the form NAME=VALUE/, 'replicate', 'b', 'no', '--set', 'x');
  await failed(2, /--rules and --migrate/, 'replicate', 'b', 'no', '--rules', '{}', '--migrate', '{}');
  await failed(2, /--remote-ca: cannot read/, 'connect', 'x', 'h', '--remote-ca', '/nowhere.pem');
  await failed(1, /give a setting to change/, 'edit', 'b', 'no');
  await failed(1, /cannot find remote cluster/, 'replicate', 'b', 'no');
  await failed(4, /there is no cluster "no"/, 'pause', 'b', 'no');
});
