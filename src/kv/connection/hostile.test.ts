// Clients that send random frames: no command may throw, and other clients are not affected.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { type Prng, prng } from '#base/prng.ts';
import { silentLog } from '#ports/log.ts';
import { commands } from '#wire/commands/index.ts';
import { Feature } from '#wire/features.ts';
import { Magic } from '#wire/frame.ts';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { startService } from '../../../test/support/data-service.ts';
import type { KvConnection, Reply } from '../../../test/support/kv-connection.ts';
import { Opcode } from '../../../test/support/opcodes.ts';
import { printedSeed } from '../../../test/support/seed.ts';

const seed = printedSeed(console.log, 20_261_120);
const frameCount = 4000;
/** All but unordered execution: the replies are expected in the order of the requests. */
const allFeatures = Object.values(Feature).filter((code) => code !== Feature.unorderedExecution);

/** Opcodes that end the connection or the login are excluded: they would end the attack too early. */
const attackCommands = commands.filter(
  (command) => !command.name.startsWith('SASL') && !command.name.startsWith('QUIT'),
);

/** A frame with the layout of some command and random content. */
function plausible({ below, bytes }: Prng): RequestParts {
  const command = attackCommands[below(attackCommands.length)]!;
  const sizes = command.request?.extras ?? [0];
  const parts: RequestParts = { opcode: command.opcode, vb: below(10) === 0 ? below(65536) : below(4) };
  parts.extras =
    below(8) === 0 ? bytes(below(32)) : bytes(sizes[below(sizes.length)]!).map((byte) => byte & 0x17);
  if (command.keyRule > 0) parts.key = Buffer.from(below(10) === 0 ? bytes(below(40)) : `\0k${below(20)}`);
  if (command.valueRule > 0) parts.value = below(2) === 0 ? bytes(below(60)) : subdocument({ below, bytes });
  if (below(6) === 0) parts.casLo = below(3);
  if (below(8) === 0) parts.framing = bytes(below(6));
  if (below(8) === 0) parts.datatype = below(9);
  return parts;
}

function subdocument({ below, bytes }: Pick<Prng, 'below' | 'bytes'>): Buffer {
  const specs = Array.from({ length: below(4) }, () => {
    const path = ['a', 'a.b[0]', '$document', '_s.x', '$XTOC', ''][below(6)]!;
    const value = ['1', '{"a":[1]}', '"x"', 'rubbish'][below(4)]!;
    const head = [0xc5 + below(16), below(2) * 4 + below(2), 0, path.length, 0, 0, 0, value.length];
    return Buffer.concat([Buffer.from(head), Buffer.from(path + value), bytes(below(20) === 0 ? 3 : 0)]);
  });
  return Buffer.concat(specs);
}

/** Usually a complete frame with a byte or two changed in its body, so that the following frames are still found. */
function mutated(random: Prng): Buffer {
  const frame = encodeRequest(plausible(random));
  const { below } = random;
  if (frame.length > 24 && below(3) === 0) frame[24 + below(frame.length - 24)] = below(256);
  if (below(200) === 0) frame[below(24)] = below(256);
  return frame;
}

/** Statuses of requests that were refused before a command ran. */
const refusals: readonly number[] = [
  Status.invalidArguments,
  Status.unknownCommand,
  Status.noBucket,
  Status.authError,
  Status.noAccess,
];

/** Returns how many of the frames reached a command. */
async function attack(client: KvConnection, random: Prng, count: number): Promise<number> {
  for (let sent = 0; sent < count && !client.socket.destroyed; sent++) {
    client.socket.write(mutated(random));
    if (sent % 50 === 0) await turn();
  }
  await new Promise((resolve) => client.socket.write(encodeRequest({ opcode: Opcode.noop }), resolve));
  for (let i = 0; i < 50; i++) await turn();
  client.close();
  await client.closed;
  let answered = 0;
  for (let reply = await client.next(); reply !== null; reply = await client.next())
    if (isReply(reply) && !refusals.includes(reply.status)) answered++;
  return answered;
}

/** Change streams send messages that are not replies. */
const isReply = ({ magic }: Reply): boolean => magic === Magic.response || magic === Magic.altResponse;

test(`random and mutated frames neither crash the service nor affect other clients (seed ${seed})`, {
  timeout: 600_000,
}, async () => {
  const failures: unknown[] = [];
  const log = {
    ...silentLog,
    error: (event: string, fields?: object) => failures.push({ event, ...fields }),
  };
  await using service = await startService(undefined, { log });
  const wellBehaved = await service.ready();
  const random = prng(seed);
  let answered = 0;
  for (let round = 0; round < 20; round++) {
    const client = round % 4 === 3 ? await service.connect() : await service.ready({ features: allFeatures });
    const attacked = attack(client, random, frameCount / 20);
    const value = Buffer.from(`"round ${round}"`);
    const set = { opcode: Opcode.set, key: Buffer.from('\0good'), extras: Buffer.alloc(8), value };
    assert.equal((await wellBehaved.ask(set)).status, 0);
    assert.ok(
      (await wellBehaved.ask({ opcode: Opcode.get, key: Buffer.from('\0good') })).value.equals(value),
    );
    answered += await attacked;
  }
  assert.deepEqual(failures, []);
  assert.ok(answered > frameCount / 8, `only ${answered} frames were answered by a command`);
});
