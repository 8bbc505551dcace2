// Load on a data port in the binary protocol, from a separate process: 80 % reads, 20 % writes of 256-byte values.
// Frames are encoded in advance and replies only counted, so that the generator costs less than the server.
import { connect, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';

export interface LoadOptions {
  port: number;
  connections: number;
  /** Requests in flight on each connection. */
  pipeline: number;
  seconds: number;
  /** Whether to log in and use collections, which memcached does not have. */
  isDivan: boolean;
}

const keyCount = 10_000;
const valueBytes = 256;
const batchCount = 512;
const getShare = 0.8;
const features = [0x04, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0e, 0x10, 0x11, 0x12, 0x14, 0x15];

/** One client: sends a batch, waits for all its replies, sends the next. */
class LoadConnection {
  completed = 0;
  /** The batches to send next; empty while idle. */
  batches: readonly Buffer[] = [];
  private readonly socket: Socket;
  private expected = 0;
  private next = 0;
  private batchSize = 0;
  private onDone: (() => void) | null = null;
  /** Missing bytes of the current frame, and the received part of its header. */
  private missing = 0;
  private readonly header = Buffer.alloc(24);
  private headerBytes = 0;

  constructor(port: number) {
    const buffer = Buffer.alloc(256 * 1024);
    const onread = {
      buffer,
      callback: (bytes: number) => {
        this.received(buffer, bytes);
        return true;
      },
    };
    this.socket = connect({ port, host: '127.0.0.1', onread, noDelay: true });
  }

  /** Sends the requests and resolves when all are answered. */
  async send(...requests: RequestParts[]): Promise<void> {
    await new Promise<void>((resolve) => {
      this.onDone = resolve;
      this.expected = requests.length;
      this.socket.write(Buffer.concat(requests.map(encodeRequest)));
    });
  }

  run(batches: readonly Buffer[], batchSize: number, first: number): void {
    this.batches = batches;
    this.batchSize = batchSize;
    this.next = first;
    this.sendBatch();
  }

  close(): void {
    this.socket.destroy();
  }

  private sendBatch(): void {
    this.expected = this.batchSize;
    this.socket.write(this.batches[this.next++ % this.batches.length] as Buffer);
  }

  private received(buffer: Buffer, bytes: number): void {
    let at = 0;
    while (at < bytes) {
      if (this.missing === 0) {
        const taken = Math.min(24 - this.headerBytes, bytes - at);
        if (this.headerBytes === 0 && taken === 24) at = this.skipWhole(buffer, at, bytes);
        else {
          buffer.copy(this.header, this.headerBytes, at, at + taken);
          at += taken;
          this.headerBytes += taken;
          if (this.headerBytes < 24) break;
          this.begin(this.header, 0);
        }
      } else {
        const taken = Math.min(this.missing, bytes - at);
        at += taken;
        this.missing -= taken;
      }
      if (this.missing === 0 && this.headerBytes === 24) this.finish();
    }
  }

  /** The common case: the buffer has the whole header. */
  private skipWhole(buffer: Buffer, at: number, bytes: number): number {
    this.begin(buffer, at);
    const taken = Math.min(this.missing, bytes - at - 24);
    this.missing -= taken;
    return at + 24 + taken;
  }

  private begin(header: Buffer, at: number): void {
    const status = (header[at + 6]! << 8) | header[at + 7]!;
    if (status !== 0) throw new Error(`opcode ${header[at + 1]} was answered with status ${status}`);
    this.headerBytes = 24;
    this.missing = header.readUInt32BE(at + 8);
  }

  private finish(): void {
    this.headerBytes = 0;
    this.completed++;
    if (--this.expected > 0) return;
    if (this.batches.length > 0) this.sendBatch();
    else this.onDone?.();
  }
}

const keys = Array.from({ length: keyCount }, (_, index) => `user:profile:${index}`);
const value = Buffer.from('v'.repeat(valueBytes));
const vbucketOf = (key: string): number => ((crc32(key) >>> 16) & 0x7fff) % 1024;
const keyOf = (key: string, isDivan: boolean): Buffer => Buffer.from(isDivan ? `\0${key}` : key);

const getRequest = (key: string, isDivan: boolean): RequestParts => ({
  opcode: 0,
  vb: isDivan ? vbucketOf(key) : 0,
  key: keyOf(key, isDivan),
});
const setRequest = (key: string, isDivan: boolean): RequestParts => ({
  ...getRequest(key, isDivan),
  opcode: 1,
  extras: Buffer.alloc(8),
  value,
});

function makeBatches({ pipeline, isDivan }: LoadOptions): Buffer[] {
  let seed = 42;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const nextRequest = () => {
    const key = keys[Math.floor(random() * keyCount)] as string;
    return encodeRequest(random() < getShare ? getRequest(key, isDivan) : setRequest(key, isDivan));
  };
  const count = pipeline === 1 ? batchCount * 16 : batchCount;
  return Array.from({ length: count }, () => Buffer.concat(Array.from({ length: pipeline }, nextRequest)));
}

async function logIn(connection: LoadConnection): Promise<void> {
  const list = Buffer.alloc(features.length * 2);
  for (const [index, code] of features.entries()) list.writeUInt16BE(code, index * 2);
  await connection.send({ opcode: 0x1f, value: list });
  await connection.send({ opcode: 0x21, key: Buffer.from('PLAIN'), value: Buffer.from('\0admin\0password') });
  await connection.send({ opcode: 0x89, key: Buffer.from('b') });
}

/** Operations per second in the measured time, and the total of operations. */
async function measure(options: LoadOptions): Promise<string> {
  const connections = Array.from({ length: options.connections }, () => new LoadConnection(options.port));
  if (options.isDivan) for (const connection of connections) await logIn(connection);
  for (let at = 0; at < keyCount; at += 100) {
    await connections[0]?.send(...keys.slice(at, at + 100).map((key) => setRequest(key, options.isDivan)));
  }
  const batches = makeBatches(options);
  for (const [index, connection] of connections.entries())
    connection.run(batches, options.pipeline, index * 37);
  const total = () => connections.reduce((sum, connection) => sum + connection.completed, 0);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait((options.seconds * 1000) / 4);
  const [before, startMs] = [total(), performance.now()];
  await wait(options.seconds * 1000);
  const rate = ((total() - before) * 1000) / (performance.now() - startMs);
  for (const connection of connections) connection.close();
  return `${rate} ${total()}`;
}

console.log(await measure(JSON.parse(process.argv[2] as string) as LoadOptions));
