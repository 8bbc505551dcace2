// A cluster that is upgraded node by node. The earlier version is this source with its version number lowered: what such a node publishes,
// checks and refuses follows from that number.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ownVersion } from '#cluster/config/node-versions.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { dataClient, get, majority, set } from '../support/data-client.ts';
import { freePort } from '../support/free-port.ts';
import { joinNodes } from '../support/join-nodes.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';

const waitLimitMs = 240_000;
const root = fileURLToPath(new URL('../..', import.meta.url));
const args = ['--services', 'kv'];
const replication = { fromBucket: 'b', toCluster: 'other', toBucket: 'b', replicationType: 'continuous' };

let folder = '';
const launcher = (): string => join(folder, 'bin', 'divan.js');

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'divan-earlier-'));
  for (const name of ['bin', 'src', 'package.json'])
    cpSync(join(root, name), join(folder, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const path = join(folder, 'src/cluster/config/node-versions.ts');
  const text = readFileSync(path, 'utf8');
  const lowered = text.replace(`ownVersion = ${ownVersion};`, `ownVersion = ${ownVersion - 1};`);
  assert.notEqual(lowered, text);
  writeFileSync(path, lowered);
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function fixedPorts(): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of ['rest', 'rest-tls', 'kv', 'kv-tls', 'dist-tls', 'replication'])
    ports[name] = await freePort();
  return ports;
}

const textOf = async (node: NodeProcess, path: string, form: Record<string, string>): Promise<string> =>
  (await node.request(path, 'POST', form)).text();

/** The number of a vbucket whose active is at this data port. */
async function vbucketAt(node: NodeProcess, kv: string): Promise<number> {
  const { vBucketServerMap } = (await (await node.request('/pools/default/b/b')).json()) as {
    vBucketServerMap: { serverList: string[]; vBucketMap: number[][] };
  };
  const port = /:\d+$/.exec(kv)?.[0] ?? '';
  const index = vBucketServerMap.serverList.findIndex((address) => address.endsWith(port));
  return vBucketServerMap.vBucketMap.findIndex(([active]) => active === index);
}

/** Sends the request to all nodes, and repeats that until the answer of the node that serves the vbucket passes the check. */
const answered = (
  nodes: readonly NodeProcess[],
  request: RequestParts,
  check: (answer: { status: number; value: Buffer }) => void,
): Promise<void> =>
  eventuallyWithin(waitLimitMs, async () => {
    const answers = [];
    for (const node of nodes) {
      const client = await dataClient(node, 'b');
      answers.push(await client.ask(request).finally(() => client.close()));
    }
    check(
      answers.find(({ status }) => status !== Status.notMyVbucket) ??
        assert.fail('no node serves the vbucket'),
    );
  });

it('runs nodes of two versions, uses features of the later version once all nodes have it, and refuses the earlier version from then on', async () => {
  const ports = await fixedPorts();
  await using first = await NodeProcess.start({
    launcher: launcher(),
    args: [...args, '--memory-quota', '256'],
    ports,
  });
  await using second = await NodeProcess.start({ unprovisioned: true, args });
  await joinNodes(first, [second]);
  const created = await first.request('/pools/default/buckets', 'POST', {
    name: 'b',
    ramQuotaMB: '100',
    replicaNumber: '1',
  });
  assert.equal(created.status, 202);
  const both = [first, second];
  const vbs = [await vbucketAt(first, first.ready.node.kv), await vbucketAt(first, second.ready.node.kv)];
  for (const vb of vbs)
    await answered(both, set('k', 'one', { vb, framing: majority }), ({ status }) =>
      assert.equal(status, Status.success),
    );

  const refused = /needs version .* on all nodes\. Upgrade first: \w+@127\.0\.0\.1$/;
  assert.match(await textOf(second, '/controller/createReplication', replication), refused);

  await first.stop();
  await using upgraded = await NodeProcess.start({ dataDir: first.dataDir, ports, args });
  await eventuallyWithin(waitLimitMs, async () =>
    assert.match(
      await textOf(second, '/controller/createReplication', replication),
      /unknown remote cluster : refName - other/,
    ),
  );
  for (const vb of vbs)
    await answered([upgraded, second], get('k', { vb }), ({ value }) =>
      assert.equal(value.toString(), 'one'),
    );

  await using older = await NodeProcess.start({ launcher: launcher(), unprovisioned: true, args });
  const form = { hostname: older.ready.node.rest, user: '', password: '' };
  assert.match(
    await textOf(upgraded, '/controller/addNode', form),
    /all nodes of this cluster have at least version/,
  );
  assert.equal(await older.stop(), 0);
  await upgraded.stop();
  await assert.rejects(
    NodeProcess.start({ launcher: launcher(), dataDir: first.dataDir, ports, args }),
    /start the node with the version that it had/,
  );
});
