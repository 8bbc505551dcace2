// A node whose configuration is on NATS servers: restarts, a server that is down, and mistakes of an operator.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { dataClient, get, set } from '../support/data-client.ts';
import { natsVersionPinned } from '../support/nats-binary.ts';
import { NatsCluster, type NatsServer } from '../support/nats-servers.ts';
import { needs } from '../support/needs.ts';
import { eventually, NodeProcess } from '../support/node-process.ts';
import { QueryClient } from '../support/query-client.ts';

const skip = needs('nats-server');

async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'divan-on-nats-'));
  try {
    await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const bucketNames = async (node: NodeProcess): Promise<string[]> => {
  const buckets = (await (await node.request('/pools/default/buckets')).json()) as { name: string }[];
  return buckets.map(({ name }) => name);
};

describe('a node with --engine nats://', { skip }, () => {
  it('keeps buckets, users and indexes after a restart', () =>
    withFolder(async (dataDir) => {
      await using servers = await NatsCluster.start();
      const args = ['--engine', servers.url, '--bucket', 'travel'];
      {
        await using node = await NodeProcess.start({ dataDir, args });
        // The node's output arrives through a pipe, perhaps after the ready file.
        const version = natsVersionPinned.replaceAll('.', '\\.');
        const config = `config +NATS at 127\\.0\\.0\\.1:\\d+ \\(${version}\\), bucket divan, one copy, unsynced`;
        await eventually(() => assert.match(node.output, new RegExp(config)));
        const user = { password: 'password', roles: 'bucket_full_access[travel]' };
        assert.equal((await node.request('/settings/rbac/users/local/ann', 'PUT', user)).status, 200);
        await statement(node, 'CREATE INDEX byName ON travel(name)');
        assert.equal(await node.stop(), 0);
      }
      await using node = await NodeProcess.start({ dataDir, args: ['--engine', servers.url] });
      assert.deepEqual(await bucketNames(node), ['travel']);
      const users = await (await node.request('/settings/rbac/users')).text();
      assert.match(users, /"ann"/);
      const indexes = await (await node.request('/indexStatus')).text();
      assert.match(indexes, /byName/);
      assert.ok(!readFileSync(join(dataDir, 'nats.json'), 'utf8').includes('ann'));
    }));

  it('serves documents while the server is down, answers 503 with the reason to changes, and recovers', () =>
    withFolder(async (dataDir) => {
      await using servers = await NatsCluster.start();
      const [server] = servers.servers as [NatsServer];
      await using node = await NodeProcess.start({
        dataDir,
        args: ['--engine', servers.url, '--bucket', 'b'],
      });
      const documents = await dataClient(node);
      // If the servers answer slowly, the node is ready before it has confirmed its shards: until then it answers temporary failures.
      const write = (value: string) =>
        eventually(async () => assert.equal((await documents.ask(set('k', value))).status, 0));
      const read = async () => (await documents.ask(get('k'))).value.toString();
      await write('before');
      await server.stop('SIGKILL');
      await write('while it is stopped');
      assert.equal(await read(), 'while it is stopped');
      const quota = { name: 'c', ramQuota: '100' };
      const refused = await node.request('/pools/default/buckets', 'POST', quota);
      assert.equal(refused.status, 503);
      assert.match(
        await refused.text(),
        /Nothing was changed: the configuration is stored by NATS at 127\.0\.0\.1:\d+, which cannot be used now: /,
      );
      assert.deepEqual(await bucketNames(node), ['b']);
      await server.start();
      await eventually(async () =>
        assert.equal((await node.request('/pools/default/buckets', 'POST', quota)).status, 202),
      );
      await eventually(async () => assert.deepEqual(await bucketNames(node), ['b', 'c']));
      assert.equal(await read(), 'while it is stopped');
      documents.close();
    }));

  it('waits for a server at the start, and refuses a key-value bucket of another node, a wrong login and another engine', () =>
    withFolder(async (dataDir) => {
      const login = 'authorization { user: ann, password: secret }';
      await using servers = await NatsCluster.start({ extra: login });
      const [server] = servers.servers as [NatsServer];
      const url = servers.url.replace('nats://', 'nats://ann:secret@');
      await server.stop();
      const starting = NodeProcess.start({ dataDir, args: ['--engine', url] });
      await server.start();
      {
        await using node = await starting;
        assert.ok(!node.output.includes('secret'));
        await assert.rejects(
          NodeProcess.start({ args: ['--engine', url] }),
          /"divan" holds the configuration of another node.*use another --nats-bucket/,
        );
        await using other = await NodeProcess.start({ args: ['--engine', url, '--nats-bucket', 'other'] });
        assert.deepEqual(await bucketNames(other), []);
      }
      const wrong = servers.url.replace('nats://', 'nats://ann:wrong@');
      await assert.rejects(NodeProcess.start({ dataDir, args: ['--engine', wrong] }), (error: Error) => {
        assert.match(error.message, /NATS refuses the user or password of this node/);
        assert.ok(!error.message.includes('wrong'));
        return true;
      });
      await assert.rejects(
        NodeProcess.start({ dataDir }),
        /is on NATS servers: start it with their --engine nats:/,
      );
      await assert.rejects(
        NodeProcess.start({ dataDir, args: ['--engine', url, '--nats-bucket', 'other'] }),
        /uses the key-value bucket "divan", not "other"/,
      );
      await assert.rejects(
        NodeProcess.start({ args: ['--nats-ca', 'ca.pem'] }),
        /--nats-ca needs --engine nats:\/\/HOST:PORT/,
      );
      await assert.rejects(
        NodeProcess.start({ args: ['--engine', url, '--nats-cert', 'cert.pem'] }),
        /--nats-cert and --nats-key are given together/,
      );
      await assert.rejects(
        NodeProcess.start({ args: ['--engine', 'etcd://h'] }),
        /this version does not have the engine "etcd:\/\/h"/,
      );
    }));
});

const statement = (node: NodeProcess, text: string): Promise<unknown[]> =>
  eventually(() => new QueryClient(node.ready.node.query as string).rows(text));
