// Writes of 256-byte values on the nodes of a cluster, from a separate process: each request goes to the node that is active for its
// vbucket. A window of requests is in flight on each connection, and each reply is followed by the next request.
import { connect, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { SetDocument } from '../../src/wire/commands/documents.ts';
import { Hello, SaslAuth, SelectBucket } from '../../src/wire/commands/session.ts';
import { Feature } from '../../src/wire/features.ts';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';
import { clientFeatures } from '../../test/support/client-features.ts';
import { words } from '../../test/support/data-client.ts';
import { administrator } from '../../test/support/node-process.ts';

export interface ClusterLoad {
  bucket: string;
  /** Data ports, one for each connection. */
  ports: readonly number[];
  /** By vbucket: the data port of its active node. */
  actives: readonly number[];
  /** Requests in flight on each connection. */
  inFlight: number;
  /** Whether each write is acknowledged by `majority`. */
  durable: boolean;
  seconds: number;
}

export interface ClusterLoadResult {
  rate: number;
  operations: number;
  /** Answers with an error, such as a durable write while a copy is out of sync. */
  failures: number;
  medianMs: number;
  p99Ms: number;
}

const keyCount = 20_000;
const value = Buffer.alloc(256, 'v');
const headerBytes = 24;
/** The framing info of a durable write: id 1 (durability) with one byte, the level `majority`. */
const majority = Buffer.from([0x11, 1]);

const vbucketOf = (key: string): number => ((crc32(key) >>> 16) & 0x7fff) % 1024;

/** One connection; `opaque` of a request is its place in the window. */
class Writer {
  completed = 0;
  failures = 0;
  readonly latencies: number[] = [];
  readonly #socket: Socket;
  readonly #sentMs: Float64Array;
  #frames: readonly Buffer[] = [];
  #next = 0;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: (() => void) | null = null;

  constructor(port: number, inFlight: number) {
    this.#sentMs = new Float64Array(inFlight);
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (data) => this.#received(data as Buffer));
  }

  ask(request: RequestParts): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = resolve;
    this.#socket.write(encodeRequest(request));
    return promise;
  }

  run(frames: readonly Buffer[]): void {
    this.#frames = frames;
    this.#socket.write(Buffer.concat(Array.from(this.#sentMs, (_, slot) => this.#frame(slot))));
  }

  close(): void {
    this.#socket.destroy();
  }

  #frame(slot: number): Buffer {
    const frame = Buffer.from(this.#frames[this.#next++ % this.#frames.length] as Buffer);
    frame.writeUInt32BE(slot, 12);
    this.#sentMs[slot] = performance.now();
    return frame;
  }

  #received(data: Buffer): void {
    const all = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    const answers: Buffer[] = [];
    let at = 0;
    while (all.length - at >= headerBytes) {
      const bytes = headerBytes + all.readUInt32BE(at + 8);
      if (all.length - at < bytes) break;
      const status = all.readUInt16BE(at + 6);
      if (status !== 0 && this.#frames.length === 0)
        throw new Error(`opcode ${all[at + 1]} was answered with status ${status}`);
      if (status !== 0) this.failures++;
      if (this.#frames.length > 0) answers.push(this.#answered(all.readUInt32BE(at + 12)));
      else this.#waiting?.();
      at += bytes;
    }
    this.#rest = all.subarray(at);
    if (answers.length > 0) this.#socket.write(Buffer.concat(answers));
  }

  #answered(slot: number): Buffer {
    this.completed++;
    // A sample: all of them would cost the generator too much.
    if (this.completed % 16 === 0) this.latencies.push(performance.now() - (this.#sentMs[slot] as number));
    return this.#frame(slot);
  }
}

function framesOf({ actives, durable }: ClusterLoad, port: number): Buffer[] {
  const keys = Array.from({ length: keyCount }, (_, index) => `user:profile:${index}`);
  const own = keys.filter((key) => actives[vbucketOf(key)] === port);
  return own.map((key) =>
    encodeRequest({
      opcode: SetDocument.opcode,
      vb: vbucketOf(key),
      key: Buffer.from(`\0${key}`),
      extras: words(0, 0),
      value,
      ...(durable && { framing: majority }),
    }),
  );
}

async function openWriter(load: ClusterLoad, port: number): Promise<Writer> {
  const writer = new Writer(port, load.inFlight);
  const features = Buffer.alloc(2 * (clientFeatures.length + 1));
  for (const [index, code] of [...clientFeatures, Feature.unorderedExecution].entries())
    features.writeUInt16BE(code, 2 * index);
  const { username, password } = administrator;
  await writer.ask({ opcode: Hello.opcode, value: features });
  await writer.ask({
    opcode: SaslAuth.opcode,
    key: Buffer.from('PLAIN'),
    value: Buffer.from(`\0${username}\0${password}`),
  });
  await writer.ask({ opcode: SelectBucket.opcode, key: Buffer.from(load.bucket) });
  return writer;
}

async function measure(load: ClusterLoad): Promise<ClusterLoadResult> {
  const writers: Writer[] = [];
  for (const port of load.ports) {
    const writer = await openWriter(load, port);
    writers.push(writer);
    writer.run(framesOf(load, port));
  }
  const total = () => writers.reduce((sum, { completed }) => sum + completed, 0);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait((load.seconds * 1000) / 4);
  for (const { latencies } of writers) latencies.length = 0;
  const [before, startMs] = [total(), performance.now()];
  await wait(load.seconds * 1000);
  const rate = ((total() - before) * 1000) / (performance.now() - startMs);
  for (const writer of writers) writer.close();
  const latencies = writers.flatMap((writer) => writer.latencies).sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  const failures = writers.reduce((sum, writer) => sum + writer.failures, 0);
  return { rate, operations: total(), failures, medianMs: at(0.5), p99Ms: at(0.99) };
}

console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] as string) as ClusterLoad)));
