// Nodes with wrong answers: backup and restore end with the reason (a BackupError), never with another error.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { realRandom } from '#ports/random.ts';
import { advancingClock } from '../../../test/support/advancing-clock.ts';
import { addBackup } from '../../../test/support/an-archive.ts';
import { aSeed, type Random, randomBytes, randomJson } from '../../../test/support/random.ts';
import { runBackup } from '../capture/run-backup.adapter.ts';
import { BackupError } from '../format/backup-error.ts';
import { runRestore } from '../restore/run-restore.adapter.ts';
import { BackupNode } from './backup-node.ts';

const rounds = 20;
const scratch = mkdtempSync(join(tmpdir(), 'divan-wrong-answers-'));
/** The text of an answer of the node, right or wrong. */
let answerText: (path: string, answer: unknown) => string = (_, answer) => JSON.stringify(answer);
/** What the data port sends before it closes a connection; null: nothing. */
let garbage: Buffer | null = null;

const data = createTcpServer((socket) => {
  socket.on('error', () => {});
  if (garbage === null) socket.destroy();
  else socket.end(garbage);
});
const rest: Server = createServer((request, response) => {
  request.resume();
  const path = request.url?.split('?')[0] ?? '';
  response.end(answerText(path, answerTo(path)));
});

before(async () => {
  for (const server of [data, rest]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
});
after(() => {
  rest.closeAllConnections();
  for (const server of [data, rest]) server.close();
  rmSync(scratch, { recursive: true, force: true });
});

const portOf = (server: { address(): unknown }): number => (server.address() as AddressInfo).port;

function answerTo(path: string): unknown {
  const bucket = {
    name: 'b',
    uuid: 'a'.repeat(32),
    bucketType: 'membase',
    quota: { rawRAM: 100 << 20 },
    replicaNumber: 0,
    controllers: { flush: '/flush' },
    basicStats: { itemCount: 3 },
  };
  const collections = [{ name: '_default', uid: '0' }];
  const answers: Readonly<Record<string, unknown>> = {
    '/pools': { uuid: 'c', implementationVersion: '7.1.0' },
    '/pools/default/buckets': [bucket],
    '/pools/default/buckets/b': bucket,
    '/pools/default/buckets/b/scopes': { uid: '1', scopes: [{ name: '_default', uid: '0', collections }] },
    '/indexStatus': { indexes: [{ bucket: 'b', indexName: 'i', definition: 'CREATE', replicaId: 0 }] },
    '/pools/default/b/b': {
      vBucketServerMap: {
        serverList: [`127.0.0.1:${portOf(data)}`],
        vBucketMap: Array.from({ length: 1024 }, () => [0]),
      },
    },
  };
  return answers[path] ?? {};
}

async function bothTasks(folder: string): Promise<string[]> {
  const { port } = rest.address() as AddressInfo;
  const node = new BackupNode({ host: '127.0.0.1', port, username: 'u', password: 'p' });
  const context = { node, clock: advancingClock(), signal: new AbortController().signal, progress: () => {} };
  const request = { folder, buckets: [], map: [], replaces: true, isForced: false };
  const errors: string[] = [];
  for (const task of [
    () => runBackup({ folder, buckets: [], isFull: true, purges: true }, { ...context, random: realRandom }),
    () =>
      runRestore(
        { ...request, createsBuckets: true, withIndexes: true, resumes: false, awaitsDisk: false },
        context,
      ),
  ])
    await assert.rejects(task, (error: Error) => {
      assert.ok(error instanceof BackupError, error.stack);
      errors.push(error.message);
      return true;
    });
  return errors;
}

const paths = [
  '/pools',
  '/pools/default/buckets',
  '/pools/default/buckets/b',
  '/pools/default/buckets/b/scopes',
  '/indexStatus',
  '/pools/default/b/b',
];

test('a backup and a restore from a node with wrong answers end with the reason', async (t) => {
  const random = aSeed(t);
  const folder = join(scratch, 'archive');
  addBackup(folder, [{ key: 'k' }]);
  for (let round = 0; round < rounds; round++) {
    garbage = random(3) === 0 ? null : randomBytes(random, random(200));
    const changedPaths = new Set(Array.from({ length: 3 }, () => paths[random(paths.length)]));
    answerText = (path, answer) =>
      changedPaths.has(path) ? changed(random, answer) : JSON.stringify(answer);
    await bothTasks(folder);
  }
});

test('the error of a backup or restore names what is wrong with the answer of the node', async () => {
  const folder = join(scratch, 'named');
  addBackup(folder, [{ key: 'k' }]);
  const map = { vBucketServerMap: { serverList: [`127.0.0.1:${portOf(data)}`], vBucketMap: [[0]] } };
  answerText = (path, answer) => JSON.stringify(path === '/pools/default/b/b' ? map : answer);
  for (const error of await bothTasks(folder)) assert.match(error, /has 1 vbuckets instead of 1024/);
  answerText = (path, answer) =>
    JSON.stringify(path === '/pools/default/buckets/b/scopes' ? { uid: 1 } : answer);
  assert.match((await bothTasks(folder))[1] ?? '', /GET .*scopes: the answer is not that of a node/);
});

/** The answer as other JSON, as no JSON, or with another value in one field. */
function changed(random: Random, answer: unknown): string {
  const kind = random(4);
  if (kind === 0) return 'no JSON';
  if (kind === 1) return JSON.stringify(randomJson(random, 3));
  const copy = structuredClone(answer) as Record<string, unknown>;
  for (let at = copy; ; ) {
    const fields = Object.keys(at);
    const field = fields[random(fields.length)];
    if (field === undefined) break;
    const inner = at[field];
    if (typeof inner === 'object' && inner !== null && random(4) > 0) at = inner as Record<string, unknown>;
    else {
      at[field] = [randomJson(random, 2), -1, 1e15, '', null, 'x'.repeat(300)][random(6)];
      break;
    }
  }
  return JSON.stringify(copy);
}
