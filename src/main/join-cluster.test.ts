import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { rebalanceIn, requestJoin } from './join-cluster.ts';

type Answer = readonly [status: number, body: unknown];

/** The address of a server that answers each path with its answers in order, and repeats the last one. */
async function aServer(t: TestContext, answers: Readonly<Record<string, readonly Answer[]>>) {
  const left = new Map(Object.entries(answers).map(([path, list]) => [path, [...list]]));
  const server = createServer(({ url = '' }, response) => {
    const list = left.get(url) ?? [];
    const [status, body] = (list.length > 1 ? list.shift() : list[0]) ?? [404, ''];
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

const members = (clusterMembership: string): Answer => [
  200,
  { nodes: [{ otpNode: 'n_0@a' }, { otpNode: 'n_1@b', thisNode: true, clusterMembership }] },
];
const [added, active] = [members('inactiveAdded'), members('active')];
const none: Answer = [200, { status: 'none' }];

interface Rebalanced {
  /** The answers to the requests for a rebalance. */
  readonly started: readonly Answer[];
  readonly progress?: readonly Answer[];
  /** The nodes, before and after each request. */
  readonly nodes?: readonly Answer[];
}

/** What a joining node prints about its rebalance; it asks every five seconds of its clock. */
async function printed(t: TestContext, { started, progress = [], nodes }: Rebalanced): Promise<string[]> {
  const target = await aServer(t, {
    '/pools/default': nodes ?? [added, active],
    '/controller/rebalance': started,
    '/pools/default/rebalanceProgress': [...progress, none],
  });
  const lines: string[] = [];
  let ms = 0;
  const sleep = async (delayMs: number): Promise<void> => void (ms += 10 * delayMs);
  await rebalanceIn(target, (line) => lines.push(line), { monotonicMs: () => ms, sleep });
  return lines;
}

const half = { status: 'running', 'n_0@a': { progress: 0.25 }, 'n_1@b': { progress: 0.75 } };

describe('the rebalance of a node that joins', () => {
  it('is shown until its end, although the node refuses some questions for its progress', async (t) => {
    const progress: Answer[] = [
      [503, 'Limit of requests reached'],
      [200, half],
      [200, 'no JSON'],
      [200, half],
    ];
    assert.deepEqual(await printed(t, { started: [[200, '']], progress }), [
      'Rebalance: 50 %',
      'Rebalance: done',
    ]);
  });

  it('ends with the reason of its failure, and with that of a refusal', async (t) => {
    const failed = { status: 'none', errorMessage: 'Rebalance failed.' };
    assert.deepEqual(await printed(t, { started: [[200, '']], progress: [[200, failed]] }), [
      'Rebalance: Rebalance failed.',
    ]);
    assert.deepEqual(await printed(t, { started: [[503, '["Rebalance running."]']] }), [
      'The node holds no documents until a rebalance: Rebalance running.',
    ]);
  });

  it('follows another rebalance, which the cluster does not stop for it', async (t) => {
    const nodes = [added, added, added, active];
    const failed: Answer = [200, { status: 'none', errorMessage: 'Rebalance failed.' }];
    const progress: Answer[] = [[200, half], failed, [200, half]];
    assert.deepEqual(await printed(t, { started: [[200, '']], progress, nodes }), [
      'Waiting for another rebalance: 50 %',
      'Waiting for another rebalance: Rebalance failed.',
      'Rebalance: 50 %',
      'Rebalance: done',
    ]);
  });

  it('is requested again while other nodes are being added', async (t) => {
    const started: Answer[] = [
      [400, { mismatch: 1 }],
      [400, 'The node n_2@c is still being added. Try again once it has joined the cluster, or remove it.'],
      [200, ''],
    ];
    const nodes = [added, added, added, active];
    assert.deepEqual(await printed(t, { started, nodes }), ['Rebalance: done']);
  });

  it('is requested again for two minutes of each node that is being added', async (t) => {
    const refused = (node: string): Answer => [
      400,
      `The node ${node} is still being added. Try again once it`,
    ];
    const times = (count: number, answer: Answer): Answer[] => Array.from({ length: count }, () => answer);
    const each = [...times(20, refused('n_2@c')), ...times(20, refused('n_3@d'))];
    const nodes = [...times(each.length + 1, added), active];
    assert.deepEqual(await printed(t, { started: [...each, [200, '']], nodes }), ['Rebalance: done']);
    const [line = '', ...more] = await printed(t, { started: [refused('n_2@c')], nodes: [added] });
    assert.match(line, /^The node holds no documents until a rebalance: The node n_2@c is still being added/);
    assert.deepEqual(more, []);
  });

  it('is missing where the end of another rebalance cannot be seen', async (t) => {
    const progress = Array.from({ length: 20 }, (): Answer => [503, '']);
    const lines = await printed(t, { started: [[200, '']], nodes: [added], progress });
    assert.deepEqual(lines, [
      'Waiting for another rebalance: its progress cannot be read; see the console',
      'The node holds no documents until a rebalance: the end of the one that runs was not seen',
    ]);
  });
});

describe('the request to join', () => {
  const path = '/node/controller/doJoinCluster';
  const rebalancing = 'Node addition is disallowed while rebalance is in progress';

  it('is repeated after growing pauses while the cluster rebalances or adds another node', async (t) => {
    const refusals = ['cannot acquire lock', ...Array<string>(5).fill(rebalancing)];
    const busy = refusals.map((text): Answer => [400, [text]]);
    const target = await aServer(t, { [path]: [...busy, [200, '']] });
    const lines: string[] = [];
    const pauses: number[] = [];
    const sleep = async (ms: number): Promise<void> => void pauses.push(ms);
    await requestJoin(target, {}, (line) => lines.push(line), { sleep });
    assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    assert.deepEqual(lines, [
      'This node joins as soon as the cluster can add it: cannot acquire lock',
      `This node joins as soon as the cluster can add it: ${rebalancing}`,
    ]);
  });

  it('ends with any other reason', async (t) => {
    const target = await aServer(t, { [path]: [[400, ['Authentication failed.']]] });
    await assert.rejects(
      requestJoin(target, {}, () => {}),
      /^StartError: --join: Authentication failed\.$/,
    );
  });
});
