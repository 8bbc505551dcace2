// Writes values of 256 bytes to the nodes of a cluster, from a separate process, and prints rate and latencies, as JSON: each request goes
// to the node that is active for its vbucket. A window of requests is in flight on each connection, and each reply is followed by the next request.
import { connect, type Socket } from 'node:net';
import { vbucketOf } from '../../src/client/document-key.ts';
import { SetDocument } from '../../src/wire/commands/documents.ts';
import { Hello, SaslAuth, SelectBucket } from '../../src/wire/commands/session.ts';
import { Feature } from '../../src/wire/features.ts';
import { headerBytes } from '../../src/wire/frame.ts';
import { encodeRequest, type RequestParts } from '../../src/wire/output.ts';
import { Status } from '../../src/wire/status.ts';
import { clientFeatures } from '../../test/support/client-features.ts';
import { words } from '../../test/support/data-client.ts';
import { administrator } from '../../test/support/node-process.ts';
import { failIfClosed } from './fail-if-closed.ts';
import { HeaderOffset } from './header-offsets.ts';

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
  /** The measured time; a quarter of it passes before, for the warm-up. */
  seconds: number;
}

export interface ClusterLoadResult {
  /** Successful writes a second of the measured time. */
  rate: number;
  /** All successful writes, with those of the warm-up: to be divided by processor time that includes the warm-up. */
  operations: number;
  /** Answers with an error during the measured time, such as to a durable write while a copy is out of sync. */
  failures: number;
  /** Latencies of a sample of the answers during the measured time. */
  medianMs: number;
  p99Ms: number;
}

const keyCount = 20_000;
/** A measurement as short as that only shows that the benchmark works: encoding all keys would take longer. */
const briefSeconds = 0.5;
const keyCountOfBrief = 2_000;
/** How much longer a measurement takes at most until it has a latency: on a busy machine a short one may have none. */
const firstLatencyMsMax = 30_000;
const value = Buffer.alloc(256, 'v');
const warmUpShare = 0.25;
const sampleEvery = 16;
/** The framing of a durable write: durability (1) with one byte, the level `majority` (1). */
const majority = Buffer.from([0x11, 1]);

/** One connection; the `opaque` field of a request is its place in the window. */
class Writer {
  succeeded = 0;
  failed = 0;
  readonly latencies: number[] = [];
  readonly #socket: Socket;
  readonly #sentMs: Float64Array;
  #frames: readonly Buffer[] = [];
  #next = 0;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: (() => void) | null = null;

  constructor(port: number, inFlight: number) {
    this.#sentMs = new Float64Array(inFlight);
    this.#socket = failIfClosed(connect({ port, host: '127.0.0.1', noDelay: true }));
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
    frame.writeUInt32BE(slot, HeaderOffset.opaque);
    this.#sentMs[slot] = performance.now();
    return frame;
  }

  #received(data: Buffer): void {
    const all = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    const requests: Buffer[] = [];
    let at = 0;
    while (all.length - at >= headerBytes) {
      const bytes = headerBytes + all.readUInt32BE(at + HeaderOffset.bodyBytes);
      if (all.length - at < bytes) break;
      const status = all.readUInt16BE(at + HeaderOffset.status);
      if (this.#frames.length > 0)
        requests.push(this.#answered(all.readUInt32BE(at + HeaderOffset.opaque), status));
      else if (status === Status.success) this.#waiting?.();
      else throw new Error(`opcode ${all[at + HeaderOffset.opcode]} was answered with status ${status}`);
      at += bytes;
    }
    this.#rest = all.subarray(at);
    if (requests.length > 0) this.#socket.write(Buffer.concat(requests));
  }

  /** Returns the next request. */
  #answered(slot: number, status: number): Buffer {
    if (status === Status.success) this.succeeded++;
    else this.failed++;
    // A sample: all of them would cost the generator too much.
    if ((this.succeeded + this.failed) % sampleEvery === 0)
      this.latencies.push(performance.now() - (this.#sentMs[slot] as number));
    return this.#frame(slot);
  }
}

function framesOf({ actives, durable, seconds }: ClusterLoad, port: number): Buffer[] {
  const length = seconds < briefSeconds ? keyCountOfBrief : keyCount;
  const keys = Array.from({ length }, (_, index) => `user:profile:${index}`);
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
  for (const port of load.ports) writers.push(await openWriter(load, port));
  for (const [index, writer] of writers.entries()) writer.run(framesOf(load, load.ports[index] as number));
  const total = (of: 'succeeded' | 'failed') => writers.reduce((sum, writer) => sum + writer[of], 0);
  const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  await wait(load.seconds * 1000 * warmUpShare);
  for (const { latencies } of writers) latencies.length = 0;
  const before = { succeeded: total('succeeded'), failed: total('failed'), atMs: performance.now() };
  await wait(load.seconds * 1000);
  const latestMs = performance.now() + firstLatencyMsMax;
  while (writers.every((writer) => writer.latencies.length === 0) && performance.now() < latestMs)
    await wait(10);
  const operations = total('succeeded');
  const rate = ((operations - before.succeeded) * 1000) / (performance.now() - before.atMs);
  const failures = total('failed') - before.failed;
  for (const writer of writers) writer.close();
  const latencies = writers.flatMap((writer) => writer.latencies).sort((a, b) => a - b);
  const quantile = (share: number): number =>
    latencies[Math.floor(share * (latencies.length - 1))] ?? Number.NaN;
  return { rate, operations, failures, medianMs: quantile(0.5), p99Ms: quantile(0.99) };
}

console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] as string) as ClusterLoad)));
