// Load on a server of keys, from a separate process: reads and writes of values of 256 bytes. Requests are encoded in advance and
// replies only counted, so that the generator costs less than the server. Prints the rate and the number of operations.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { failIfClosed } from './fail-if-closed.ts';
import { type LoadProtocol, type ProtocolName, protocolOf } from './load-protocols.ts';

export interface LoadOptions {
  port: number;
  connections: number;
  /** Requests in flight on each connection. */
  pipeline: number;
  /** The measured time; a quarter of it passes before, for the warm-up. */
  seconds: number;
  protocol: ProtocolName;
  /** Over TLS, without a check of the certificate. */
  tls?: boolean;
  /** A user of Divan whose password is `password`; the default is `admin`. */
  username?: string;
  /** A bucket of Divan; the default is `b`. */
  bucket?: string;
  /** Durable writes only; the default is 80 % reads and 20 % writes without a level. */
  durable?: boolean;
}

/** A measurement as short as that only shows that the benchmark works: with the usual keys and batches the preparation would take longer. */
const briefSeconds = 0.5;
/** How much longer a measurement takes at most until an operation has ended: on a busy machine a short one may have none. */
const firstOperationMsMax = 30_000;
const valueBytes = 256;
/** `batchCount`: batches that are encoded in advance; sixteen times as many of a single request. */
const sizesOf = ({ seconds }: LoadOptions): { keyCount: number; batchCount: number } =>
  seconds < briefSeconds ? { keyCount: 1_000, batchCount: 16 } : { keyCount: 10_000, batchCount: 512 };
const getShare = 0.8;

/** One client: sends a batch, waits for all its replies, sends the next. */
class LoadConnection {
  completed = 0;
  /** The batches to send in turn; empty before `run`. */
  private batches: readonly Buffer[] = [];
  private readonly socket: Socket;
  private readonly protocol: LoadProtocol;
  /** Replies that have not arrived. */
  private expected = 0;
  /** The index of the next batch. */
  private next = 0;
  private batchSize = 0;
  private onDone: (() => void) | null = null;
  /** Bytes of the current reply that have not arrived, once its header has. */
  private missing = 0;
  private readonly header: Buffer;
  /** How much of `header` has arrived. */
  private headerBytes = 0;

  constructor(port: number, protocol: LoadProtocol, tls: boolean) {
    this.protocol = protocol;
    this.header = Buffer.alloc(protocol.headerBytes);
    const buffer = Buffer.alloc(256 * 1024);
    const onread = {
      buffer,
      callback: (bytes: number) => {
        this.received(buffer, bytes);
        return true;
      },
    };
    const address = { port, host: '127.0.0.1', onread, noDelay: true };
    this.socket = failIfClosed(
      tls ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address),
    );
  }

  /** Sends the requests and resolves when all are answered. */
  async send(...requests: Buffer[]): Promise<void> {
    await new Promise<void>((resolve) => {
      this.onDone = resolve;
      this.expected = requests.length;
      this.socket.write(Buffer.concat(requests));
    });
  }

  /** Sends batches of `batchSize` requests in turn, from the one with the index `first`, until the connection is closed. */
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
    const whole = this.protocol.headerBytes;
    let at = 0;
    while (at < bytes) {
      if (this.missing === 0) {
        const taken = Math.min(whole - this.headerBytes, bytes - at);
        if (this.headerBytes === 0 && taken === whole) at = this.skipWhole(buffer, at, bytes);
        else {
          buffer.copy(this.header, this.headerBytes, at, at + taken);
          at += taken;
          this.headerBytes += taken;
          if (this.headerBytes < whole) break;
          this.begin(this.header, 0);
        }
      } else {
        const taken = Math.min(this.missing, bytes - at);
        at += taken;
        this.missing -= taken;
      }
      if (this.missing === 0 && this.headerBytes === whole) this.finish();
    }
  }

  /** The common case: the buffer has the whole header. */
  private skipWhole(buffer: Buffer, at: number, bytes: number): number {
    this.begin(buffer, at);
    const body = at + this.protocol.headerBytes;
    const taken = Math.min(this.missing, bytes - body);
    this.missing -= taken;
    return body + taken;
  }

  private begin(header: Buffer, at: number): void {
    this.missing = this.protocol.bodyBytes(header, at);
    this.headerBytes = this.protocol.headerBytes;
  }

  private finish(): void {
    this.headerBytes = 0;
    this.completed++;
    if (--this.expected > 0) return;
    if (this.batches.length > 0) this.sendBatch();
    else this.onDone?.();
  }
}

const value = Buffer.from('v'.repeat(valueBytes));

/** Batches of requests for the given keys. */
function makeBatches(options: LoadOptions, protocol: LoadProtocol, among: readonly string[]): Buffer[] {
  const { pipeline, durable } = options;
  const { batchCount } = sizesOf(options);
  let seed = 42;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  const nextRequest = () => {
    const key = among[Math.floor(random() * among.length)] as string;
    return random() < getShare && durable !== true ? protocol.get(key) : protocol.set(key, value);
  };
  const count = pipeline === 1 && durable !== true ? batchCount * 16 : batchCount;
  return Array.from({ length: count }, () => Buffer.concat(Array.from({ length: pipeline }, nextRequest)));
}

/** Operations per second in the measured time, and all operations, with those of the warm-up: to divide processor time that includes it. */
async function measure(options: LoadOptions): Promise<string> {
  const protocol = protocolOf({ ...options, valueBytes });
  const { keyCount } = sizesOf(options);
  const keys = Array.from({ length: keyCount }, (_, index) => `user:profile:${index}`);
  const connections = Array.from(
    { length: options.connections },
    () => new LoadConnection(options.port, protocol, options.tls ?? false),
  );
  for (const connection of connections) for (const request of protocol.logIn) await connection.send(request);
  for (let at = 0; at < keyCount; at += 100)
    await connections[0]?.send(...keys.slice(at, at + 100).map((key) => protocol.set(key, value)));
  const shared = makeBatches(options, protocol, keys);
  for (const [index, connection] of connections.entries()) {
    // Two durable writes of one key at a time are refused: each connection has keys of its own.
    const own = (_: string, at: number): boolean => at % connections.length === index;
    const batches = options.durable === true ? makeBatches(options, protocol, keys.filter(own)) : shared;
    connection.run(batches, options.pipeline, index * 37);
  }
  const completed = () => connections.reduce((sum, connection) => sum + connection.completed, 0);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  // Warms up.
  await wait((options.seconds * 1000) / 4);
  const [completedBefore, startedMs] = [completed(), performance.now()];
  await wait(options.seconds * 1000);
  const latestMs = performance.now() + firstOperationMsMax;
  while (completed() === completedBefore && performance.now() < latestMs) await wait(10);
  const rate = ((completed() - completedBefore) * 1000) / (performance.now() - startedMs);
  for (const connection of connections) connection.close();
  return `${rate} ${completed()}`;
}

console.log(await measure(JSON.parse(process.argv[2] as string) as LoadOptions));
