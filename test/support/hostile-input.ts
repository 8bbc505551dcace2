// Random and mutated frames and requests of hostile clients, most of which differ little from valid ones.
import { connect as connectSocket, type Socket } from 'node:net';
import type { Prng } from '#base/prng.ts';
import { prng } from '#base/prng.ts';
import { Feature } from '#wire/features.ts';
import { encodeRequest, type RequestParts } from '#wire/output.ts';
import { usualFeatures } from './client-features.ts';
import { KvConnection } from './kv-connection.ts';
import { administrator } from './node-process.ts';
import { Opcode } from './opcodes.ts';

/** Few frames per connection, so that one that closes the connection affects few others. */
export const framesPerConnection = 8;
const closeTimeoutMs = 20;

/** Makes the attacks, four at a time; the last four may exceed `rounds`. */
export async function bombard(
  rounds: number,
  random: Prng,
  attack: (random: Prng) => Promise<void>,
): Promise<void> {
  for (let i = 0; i < rounds; i += 4) {
    await Promise.all(Array.from({ length: 4 }, () => attack(prng(random.below(2 ** 31)))));
  }
}

/** Sends the bytes on a connection of its own, then waits for the server to close it, at most `quietMs`. */
async function exchange(address: string, chunks: readonly Buffer[]): Promise<void> {
  const { socket, closed } = await open(address);
  for (const chunk of chunks) socket.write(chunk);
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, closeTimeoutMs))]);
  socket.destroy();
}

async function open(address: string): Promise<{ socket: Socket; closed: Promise<unknown> }> {
  const [host, port] = address.split(':');
  const socket = connectSocket(Number(port), host);
  socket.on('error', () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once('close', resolve));
  await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), closed]);
  return { socket, closed };
}

/**
 * Frames that can all be read, and then one that perhaps can't, which ends the connection: after it the server cannot
 * find the start of the next one. Counts the answers by status in `answers`.
 */
export async function attackData(port: number, random: Prng, answers: Map<number, number>): Promise<void> {
  const client = await KvConnection.open(port);
  const session = random.below(8) === 0 ? [] : login;
  const attack = Array.from({ length: framesPerConnection - 1 }, () => alter(aFrame(random), random));
  client.socket.write(
    Buffer.concat([...session, ...attack, encodeRequest({ opcode: Opcode.noop, opaque: lastOpaque })]),
  );
  // `next` fails if no reply comes in time: then the server hangs.
  for (let reply = await client.next(); reply && reply.opaque !== lastOpaque; reply = await client.next()) {
    if (reply.opaque === hostile) answers.set(reply.status, (answers.get(reply.status) ?? 0) + 1);
  }
  client.socket.write(breakFrame(aFrame(random), random));
  await Promise.race([client.closed, new Promise((resolve) => setTimeout(resolve, 2))]);
  client.close();
  await client.closed;
}

const lastOpaque = 0xfeedface;
/** Distinguishes the replies to hostile frames from those to the login. */
const hostile = 0x1bad1bad;

const frame = (opcode: number, parts: Partial<RequestParts>, vb = 0): Buffer =>
  encodeRequest({ opcode, vb, opaque: hostile, ...parts });

const plainLogin = Buffer.from(`\0${administrator.username}\0${administrator.password}`);
const features = Buffer.from([...usualFeatures, Feature.unorderedExecution].flatMap((code) => [0, code]));
const login = [
  frame(Opcode.hello, { key: Buffer.from('hostile'), value: features, opaque: 0 }),
  frame(Opcode.saslAuth, { key: Buffer.from('PLAIN'), value: plainLogin, opaque: 0 }),
  frame(Opcode.selectBucket, { key: Buffer.from('b'), opaque: 0 }),
];

/** A nearly valid frame: a known opcode with extras, key and value of likely sizes. */
function aFrame(random: Prng): Buffer {
  const opcode = random.below(8) === 0 ? random.below(256) : random.pick(likelyOpcodes);
  if (opcode >= 0xc5 && opcode <= 0xd3 && random.below(8) > 0) return aSubdocument(opcode, random);
  const extras = random.bytes(random.pick(likelyExtras[opcode] ?? [0, 0, 1, 4, 8, 16, 20, 24, 28]));
  const name = random.below(4) > 0 ? Buffer.from(`k${random.below(10)}`) : random.bytes(random.below(20));
  const key = Buffer.concat([Buffer.from([random.pick([0, 0, 0, 0, 0, 0, 0, 0, 8, 0x80])]), name]);
  const framing = random.below(16) === 0 ? random.bytes(random.below(6)) : Buffer.alloc(0);
  const value = random.pick([
    () => Buffer.from('{"a":[1,2,{"b":"c"}]}'),
    () => random.bytes(random.below(200)),
    () => Buffer.concat([Buffer.from([0xc5, 0, 0, 1, 0x61]), random.bytes(random.below(30))]),
    () => Buffer.from('n,,n=Administrator,r=abc'),
    () => Buffer.alloc(random.below(70_000), 0x5b),
  ])();
  const parts = withoutValue.has(opcode) ? { extras, key, framing } : { extras, key, value, framing };
  return frame(opcode, parts, random.pick([0, 0, 0, 0, 0, 0, 1, 1, 1023, 1024, 65535]));
}

/** A sub-document request: a path with its value, or several of them, each with a header. */
function aSubdocument(opcode: number, random: Prng): Buffer {
  const path = Buffer.from(
    random.pick(['a', 'a[0]', 'a[2].b', 'c.d.e', 'n', '', '[0]', '$document', 'a[-1]']),
  );
  const isRead = [0xc5, 0xc6, 0xd0, 0xd2].includes(opcode);
  const value = Buffer.from(isRead ? '' : random.pick(['1', '-7', '"x"', '[1,2]', '{"z":null}', 'rubbish']));
  const flags = random.pick([0, 0, 0, 1, 1, 4, 5, 0x10]);
  const key = Buffer.from(`\0k${random.below(10)}`);
  const isMulti = opcode === 0xd0 || opcode === 0xd1;
  if (!isMulti) {
    const extras = Buffer.from([0, path.length, flags]);
    return frame(opcode, { extras, key, value: Buffer.concat([path, value]) });
  }
  const specs = Array.from({ length: 1 + random.below(4) }, () => {
    const inner = random.pick(isRead ? [0xc5, 0xc6, 0xd2] : [0xc7, 0xc8, 0xc9, 0xcb, 0xce, 0xcf]);
    const head = [inner, flags, 0, path.length, ...(isRead ? [] : [0, 0, 0, value.length])];
    return Buffer.concat([Buffer.from(head), path, value]);
  });
  const extras = Buffer.from(random.pick(isRead ? [[], [], [4]] : [[], [1], [1], [0, 0, 0, 0]]));
  return frame(opcode, { extras, key, value: Buffer.concat(specs) });
}

/** By opcode: the sizes of extras, in bytes, that the command accepts. */
const likelyExtras: Record<number, number[]> = {
  0: [0],
  1: [8],
  2: [8],
  3: [8],
  4: [0],
  5: [20],
  6: [20],
  14: [0],
  15: [0],
  28: [4],
  29: [4],
  148: [0, 4],
  149: [0],
  160: [0, 1],
  197: [3],
  200: [3],
  203: [3, 4, 7],
  207: [3, 8],
  208: [0, 1],
  209: [0, 1, 4, 5],
};
/** Opcodes that have no value: with one they would all be refused alike. */
const withoutValue = new Set([0, 4, 5, 6, 0x1c, 0x1d, 0x83, 0x94, 0x95, 0xa0]);
/** Repeated ones are more likely. Logins are rare, because they end the session of the connection. */
const likelyOpcodes = [
  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0a, 0x0e, 0x0f, 0x10, 0x1c, 0x1d, 0x20, 0x21, 0x83, 0x91, 0x92,
  0x94, 0x95, 0xa0, 0xb5, 0xb6, 0xb7, 0xba, 0xbb, 0xbc, 0xc5, 0xc8, 0xcb, 0xcf, 0xd0, 0xd1, 0xd3, 0xfe, 0x48,
  0x00, 0x01, 0x02, 0x05, 0x0e, 0x1c, 0x94, 0xc5, 0xc8, 0xcb, 0xcf, 0xd0, 0xd1,
];

/** Bytes of the header whose change leaves the frame readable: opcode, datatype, vbucket, CAS. */
const harmless = [1, 5, 6, 7, 16, 23];

/** Changes bytes, but none that says where the frame ends. */
function alter(bytes: Buffer, random: Prng): Buffer {
  const kind = random.below(10);
  if (kind === 0) bytes[random.pick(harmless)] = random.below(256);
  if (kind < 4 && bytes.length > 24) bytes[24 + random.below(bytes.length - 24)] = random.below(256);
  return bytes;
}

/** Makes it likely that the frame can't be read: rubbish, a part of it, or another header. */
function breakFrame(bytes: Buffer, random: Prng): Buffer {
  const kind = random.below(4);
  if (kind === 0) return random.bytes(random.below(64));
  if (kind === 1) return bytes.subarray(0, random.below(bytes.length));
  bytes[random.below(kind === 2 ? 24 : 12)] = random.below(256);
  return bytes;
}

/** Replaces, cuts or changes most requests; leaves the others. */
function mutate(bytes: Buffer, random: Prng): Buffer {
  const kind = random.below(10);
  if (kind === 0) return random.bytes(random.below(64));
  if (kind === 1) return bytes.subarray(0, random.below(bytes.length));
  if (kind < 5) bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}

export async function attackRest(address: string, random: Prng, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await exchange(address, [mutate(aRequest(random), random)]);
}

function aRequest(random: Prng): Buffer {
  const method = random.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'X']);
  const path =
    random.pick(paths) +
    random.pick(['', '/', '//', '/%', '/%2F..', '/%00', '?just_validate=1', '?a[b]=%ff', '?'.repeat(99)]);
  const body = aForm(random);
  const credentials = Buffer.from(`${administrator.username}:${administrator.password}`).toString('base64');
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: x',
    'Connection: close',
    random.below(5) === 0 ? 'Authorization: Basic %%%' : `Authorization: Basic ${credentials}`,
    `Content-Type: ${random.pick(['application/x-www-form-urlencoded', 'application/json', 'text/plain', ''])}`,
    `Content-Length: ${random.pick([body.length, body.length, 0, 99999999, -1])}`,
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** No request to these can delete the bucket that the well-behaved client uses, or change the administrator. */
const paths = [
  '/pools',
  '/pools/default',
  '/pools/default/buckets',
  '/pools/default/buckets/zzz',
  '/pools/default/buckets/b/scopes',
  '/pools/default/buckets/b/scopes/x/collections',
  '/pools/default/b/b',
  '/pools/default/tasks',
  '/nodes/self',
  '/settings/rbac/users/local/hostile',
  '/settings/rbac/groups/hostile',
  '/pools/default/checkPermissions',
  '/node/controller/rename',
  '/node/controller/setupServices',
  '/clusterInit',
  '/whoami',
  '/nowhere',
];

function aForm(random: Prng): string {
  const names = [
    'name',
    'ramQuotaMB',
    'bucketType',
    'roles',
    'password',
    'hostname',
    'a[b]',
    '__proto__',
    'constructor',
    'replicaNumber',
  ];
  const values = [
    '',
    'hostile',
    '100',
    '-1',
    '1e99',
    'true',
    '%00',
    '%',
    '[',
    'x'.repeat(5000),
    'native',
    '\u0000',
  ];
  const pairs = Array.from({ length: random.below(6) }, () => `${random.pick(names)}=${random.pick(values)}`);
  return random.below(4) === 0 ? `{"${pairs.join('":"')}"}` : pairs.join('&');
}
