// The requests that the load generator for keys sends to a server, and how it finds the end of a reply: the binary protocol of Divan and memcached, and that of
// Redis. Replies are only counted, so that the generator costs less than the server.
import { crc32 } from 'node:zlib';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';

export type ProtocolName = 'divan' | 'memcached' | 'redis';

export interface LoadProtocol {
  /** The first bytes of a reply, which tell its length. */
  readonly headerBytes: number;
  /** The bytes of the reply after its header. Throws if the reply is a refusal. */
  bodyBytes(header: Buffer, at: number): number;
  get(key: string): Buffer;
  set(key: string, value: Buffer): Buffer;
  /** Sent first, one after the other. */
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

const features = [0x04, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0e, 0x10, 0x11, 0x12, 0x14, 0x15];
/** The frame of a durable write: level persistToMajority, and a minute, since a busy machine may take long. */
const persistToMajority = Buffer.from([0x13, 3, 0xea, 0x60]);
const vbucketOf = (key: string): number => ((crc32(key) >>> 16) & 0x7fff) % 1024;

function binary({ protocol, username = 'admin', bucket = 'b', durable }: ProtocolOptions): LoadProtocol {
  const isDivan = protocol === 'divan';
  const get = (key: string): RequestParts => ({
    opcode: 0,
    vb: isDivan ? vbucketOf(key) : 0,
    // The default collection has an identifier of one byte.
    key: Buffer.from(isDivan ? `\0${key}` : key),
  });
  const framing = isDivan && durable === true ? { framing: persistToMajority } : {};
  const hello = Buffer.alloc(features.length * 2);
  for (const [index, code] of features.entries()) hello.writeUInt16BE(code, index * 2);
  const login = { key: Buffer.from('PLAIN'), value: Buffer.from(`\0${username}\0password`) };
  const logIn = [
    { opcode: 0x1f, value: hello },
    { opcode: 0x21, ...login },
    { opcode: 0x89, key: Buffer.from(bucket) },
  ];
  return {
    headerBytes: 24,
    bodyBytes(header, at) {
      const status = header.readUInt16BE(at + 6);
      if (status !== 0) throw new Error(`opcode ${header[at + 1]} was answered with status ${status}`);
      return header.readUInt32BE(at + 8);
    },
    get: (key) => encodeRequest(get(key)),
    set: (key, value) =>
      encodeRequest({ ...get(key), ...framing, opcode: 1, extras: Buffer.alloc(8), value }),
    logIn: isDivan ? logIn.map(encodeRequest) : [],
  };
}

/** All values have the same length, so that the first byte of a reply tells the rest. */
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
  const rest = { stored: '+OK\r\n'.length - 1, found: `$${valueBytes}\r\n\r\n`.length + valueBytes - 1 };
  return {
    headerBytes: 1,
    bodyBytes(header, at) {
      const kind = String.fromCharCode(header[at] as number);
      if (kind === '+') return rest.stored;
      if (kind === '$') return rest.found;
      throw new Error(`the server answered with ${kind}`);
    },
    get: (key) => command('GET', key),
    set: (key, value) => command('SET', key, value),
    logIn: [],
  };
}
