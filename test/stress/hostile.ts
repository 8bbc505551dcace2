// Hostile frames, requests and documents against a node, beside a client that must not be affected. `node test/stress/hostile.ts [rounds]`,
// default 50; DIVAN_SEED repeats a run.

import assert from 'node:assert/strict';
import { prng } from '#base/prng.ts';
import { Status } from '#wire/status.ts';
import { SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { portNumber } from '../support/addresses.ts';
import { dataClient, get, set } from '../support/data-client.ts';
import { attackData, attackRest, bombard } from '../support/hostile-input.ts';
import { NodeProcess } from '../support/node-process.ts';
import { Opcode } from '../support/opcodes.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

const connectionsPerRound = 40;
/** How many requests an attack on the REST port sends, each on a connection of its own. */
const restRequestsPerAttack = 4;
const documents = 20;

export interface HostileTally {
  /** The replies to hostile frames. */
  answered: number;
  /** How many different statuses these replies had. */
  statuses: number;
}

export async function hostileRounds(
  rounds: number | { untilMs: number },
  random: Random,
): Promise<HostileTally> {
  await using node = await NodeProcess.start({ args: ['--bucket', 'b'], startMs: 120_000 });
  const port = portNumber(node.ready.node.kv);
  const rest = node.ready.node.rest.replace('http://', '');
  const answers = new Map<number, number>();
  const ordinary = await dataClient(node);
  for (let at = 0; at < documents; at++)
    assert.equal((await ordinary.ask(set(`ordinary${at}`, String(at)))).status, Status.success);
  const isOver = (round: number): boolean =>
    typeof rounds === 'number' ? round > rounds : performance.now() >= rounds.untilMs;
  for (let round = 1; !isOver(round); round++) {
    const seed = random(1 << 30);
    await bombard(connectionsPerRound, prng(seed), (prngOfAttack) => attackData(port, prngOfAttack, answers));
    await bombard(connectionsPerRound / restRequestsPerAttack, prng(seed + 1), (prngOfAttack) =>
      attackRest(rest, prngOfAttack, restRequestsPerAttack),
    );
    await sendDocuments(node, random);
    for (let at = 0; at < documents; at++) {
      const { status, value } = await ordinary.ask(get(`ordinary${at}`));
      assert.deepEqual([status, value.toString()], [Status.success, String(at)], `seed ${seed}`);
    }
    assert.equal((await node.request('/pools/default/buckets/b')).status, 200);
    assert.ok(node.running, `seed ${seed}: the node ended: ${node.output.slice(-2000)}`);
  }
  assert.doesNotMatch(node.output, /\n\s+at |TypeError|RangeError/, node.output.slice(-2000));
  ordinary.close();
  assert.equal(await node.stop(), 0);
  return { answered: [...answers.values()].reduce((sum, count) => sum + count, 0), statuses: answers.size };
}

/** Documents that are expensive to parse, to compress and to search, and the requests that do each of these. */
async function sendDocuments(node: NodeProcess, random: Random): Promise<void> {
  const client = await dataClient(node);
  const depth = 1 + random(200_000);
  const text = [
    '['.repeat(depth),
    '['.repeat(depth) + ']'.repeat(depth),
    `{"a":`.repeat(depth),
    `"${'\\u0000'.repeat(random(50_000))}"`,
    `[${'1,'.repeat(random(200_000))}1]`,
    `${'9'.repeat(1 + random(100_000))}`,
    `{"${'k'.repeat(random(100_000))}":1}`,
    '\ud800',
  ][random(8)] as string;
  const datatype = random(8);
  const key = Buffer.from('\0document');
  client.send(
    { opcode: Opcode.set, key, extras: Buffer.alloc(8), value: Buffer.from(text), datatype },
    { opcode: Opcode.get, key },
    { opcode: Opcode.subdocGet, key, extras: Buffer.from([0, 1, 0]), value: Buffer.from('a') },
    { opcode: SubdocOpcode.getCount, key, extras: Buffer.from([0, 0, 0]) },
    { opcode: Opcode.subdocDictUpsert, key, extras: Buffer.from([0, 3, 1]), value: Buffer.from('a.b1') },
    { opcode: SubdocOpcode.pushLast, key, extras: Buffer.from([0, 0, 0]), value: Buffer.from('1') },
    { opcode: Opcode.increment, key, extras: Buffer.alloc(20) },
    { opcode: Opcode.append, key, value: Buffer.from(text.slice(0, 1000)) },
    { opcode: Opcode.noop, opaque: 1 },
  );
  for (let reply = await client.next(); reply?.opaque !== 1; reply = await client.next())
    assert.ok(reply, `the connection was closed after a document of ${text.length} bytes`);
  client.close();
}

if (import.meta.main) {
  const random = randomFrom(printedSeed(console.log));
  console.log(await hostileRounds(Number(process.argv[2] ?? 50), random));
}
