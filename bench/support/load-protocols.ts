// The requests that load generators send to key-value servers, and how they find the end of a reply: in the binary protocol of Divan and
// memcached, and in that of Redis. Of a reply only its kind and length are read, so that a generator costs less than the server.
import { vbucketOf } from '../../src/client/document-key.ts';
import { Feature } from '../../src/wire/features.ts';
import { headerBytes } from '../../src/wire/frame.ts';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';
import { usualFeatures } from '../../test/support/client-features.ts';
import { Opcode } from '../../test/support/opcodes.ts';
import { HeaderOffset } from './header-offsets.ts';

export type ProtocolName = 'divan' | 'memcached' | 'redis';

export interface LoadProtocol {
  /** The length of the start of a reply that tells the length of the rest. */
  readonly headerBytes: number;
  /** The length of the reply after its header, which begins at `at`. Throws if the reply is a refusal. */
  bodyBytes(header: Buffer, at: number): number;
  get(key: string): Buffer;
  set(key: string, value: Buffer): Buffer;
  /** The first requests of a connection; each is sent after the reply to the one before. */
  readonly logIn: readonly Buffer[];
}

export interface ProtocolOptions {
  readonly protocol: ProtocolName;
  readonly username?: string | undefined;
  readonly bucket?: string | undefined;
  /** Whether writes are answered only when they are on disk. For Divan only: in Redis this is a setting of the server, and memcached stores nothing on disk. */
  readonly durable?: boolean | undefined;
  readonly valueBytes: number;
}

export const protocolOf = (options: ProtocolOptions): LoadProtocol =>
  options.protocol === 'redis' ? redis(options.valueBytes) : binary(options);

/** Replies may come in any order: they are only counted. */
const features = [...usualFeatures, Feature.unorderedExecution];
/** The framing of a durable write: level persistToMajority, and a time limit of 60,000 ms, since a busy machine may take long. */
const persistToMajority = Buffer.from([0x13, 3, 0xea, 0x60]);

function binary({ protocol, username = 'admin', bucket = 'b', durable }: ProtocolOptions): LoadProtocol {
  const isDivan = protocol === 'divan';
  const get = (key: string): RequestParts => ({
    opcode: Opcode.get,
    vb: isDivan ? vbucketOf(key) : 0,
    // A key begins with the id of its collection; that of the default collection is 0.
    key: Buffer.from(isDivan ? `\0${key}` : key),
  });
  const framing = isDivan && durable === true ? { framing: persistToMajority } : {};
  const hello = Buffer.alloc(features.length * 2);
  for (const [index, code] of features.entries()) hello.writeUInt16BE(code, index * 2);
  const login = { key: Buffer.from('PLAIN'), value: Buffer.from(`\0${username}\0password`) };
  const logIn = [
    { opcode: Opcode.hello, value: hello },
    { opcode: Opcode.saslAuth, ...login },
    { opcode: Opcode.selectBucket, key: Buffer.from(bucket) },
  ];
  return {
    headerBytes,
    bodyBytes(header, at) {
      const status = header.readUInt16BE(at + HeaderOffset.status);
      if (status !== 0)
        throw new Error(`opcode ${header[at + HeaderOffset.opcode]} was answered with status ${status}`);
      return header.readUInt32BE(at + HeaderOffset.bodyBytes);
    },
    get: (key) => encodeRequest(get(key)),
    set: (key, value) =>
      encodeRequest({ ...get(key), ...framing, opcode: Opcode.set, extras: Buffer.alloc(8), value }),
    logIn: isDivan ? logIn.map(encodeRequest) : [],
  };
}

/** All values have the same length, so that the first byte of a reply tells how long the rest is. */
function redis(valueBytes: number): LoadProtocol {
  const command = (...parts: (string | Buffer)[]): Buffer =>
    Buffer.concat([
      Buffer.from(`*${parts.length}\r\n`),
      ...parts.flatMap((part) => [
        Buffer.from(`$${part.length}\r\n`),
        Buffer.from(part),
        Buffer.from('\r\n'),
      ]),
    ]);
  const restBytes = { stored: '+OK\r\n'.length - 1, found: `$${valueBytes}\r\n\r\n`.length + valueBytes - 1 };
  return {
    headerBytes: 1,
    bodyBytes(header, at) {
      const kind = String.fromCharCode(header[at] as number);
      if (kind === '+') return restBytes.stored;
      if (kind === '$') return restBytes.found;
      throw new Error(`the server answered with a reply that begins with ${kind}`);
    },
    get: (key) => command('GET', key),
    set: (key, value) => command('SET', key, value),
    logIn: [],
  };
}
