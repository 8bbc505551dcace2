// A process that reads and writes documents at a steady rate and prints the latencies, as JSON. One of its threads only sleeps, a
// millisecond at a time, and reports how late it wakes up: the delay that the machine alone adds.
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { headerBytes } from '../../src/wire/frame.ts';
import { Status } from '../../src/wire/status.ts';
import { failIfClosed } from './fail-if-closed.ts';
import { HeaderOffset } from './header-offsets.ts';
import { type LoadProtocol, protocolOf } from './load-protocols.ts';

export interface MixedLoad {
  readonly port: number;
  readonly username: string;
  readonly bucket: string;
  readonly connections: number;
  /** Requests a second on all connections together. */
  readonly perSecond: number;
  readonly seconds: number;
}

export interface MixedReport {
  readonly requests: Latencies;
  /** How late the sleeping thread woke up. */
  readonly machine: Latencies;
}

export interface Latencies {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly longestMs: number;
}

const keyCount = 50_000;
const valueBytes = 512;
const writeShare = 0.3;
/** The share of the writes whose documents expire within seconds. */
const expiringShare = 0.2;
const expirySeconds = 3;
/** Where a SET has its expiry: after the header and the flags. */
const expiryAt = headerBytes + 4;

const sleeper = `
  const { parentPort, workerData } = require('node:worker_threads');
  const cell = new Int32Array(new SharedArrayBuffer(4));
  const late = [];
  const until = performance.now() + workerData;
  for (let now = performance.now(); now < until; ) {
    Atomics.wait(cell, 0, 0, 1);
    const after = performance.now();
    late.push(Math.max(after - now - 1, 0));
    now = after;
  }
  parentPort.postMessage(late);`;

async function measure(options: MixedLoad): Promise<MixedReport> {
  const protocol = protocolOf({ ...options, protocol: 'divan', valueBytes });
  const worker = new Worker(sleeper, { eval: true, workerData: options.seconds * 1000 });
  const late = new Promise<number[]>((resolve) => worker.once('message', resolve));
  const untilMs = performance.now() + options.seconds * 1000;
  const paceMs = (1000 * options.connections) / options.perSecond;
  const times: number[] = [];
  const client = async (): Promise<void> => {
    const connection = new SerialConnection(options.port);
    for (const request of protocol.logIn) await connection.ask(request, [Status.success]);
    for (let dueMs = performance.now() + Math.random() * paceMs; dueMs < untilMs; dueMs += paceMs) {
      const aheadMs = dueMs - performance.now();
      if (aheadMs > 0) await new Promise((resolve) => setTimeout(resolve, aheadMs));
      // A request that was due while its connection still waited for an earlier answer counts from when it was due: else one long answer
      // would hide the wait of all requests behind it. Other requests count from the send: timers of this process may fire late.
      const beganMs = aheadMs > 0 ? performance.now() : dueMs;
      await askForDocument(connection, protocol);
      times.push(performance.now() - beganMs);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: options.connections }, client));
  return { requests: latenciesOf(times), machine: latenciesOf(await late) };
}

const value = Buffer.alloc(valueBytes, 'v');

/** Reads or writes a document; not all documents exist. */
function askForDocument(connection: SerialConnection, protocol: LoadProtocol): Promise<void> {
  const key = `user:profile:${Math.floor(Math.random() * keyCount)}`;
  if (Math.random() >= writeShare)
    return connection.ask(protocol.get(key), [Status.success, Status.keyNotFound]);
  const request = protocol.set(key, value);
  if (Math.random() < expiringShare) request.writeUInt32BE(expirySeconds, expiryAt);
  return connection.ask(request, [Status.success]);
}

/** A connection that sends a request after the answer to the last one, and of an answer reads only the status. */
class SerialConnection {
  readonly #socket: Socket;
  readonly #header = Buffer.alloc(headerBytes);
  #headerLength = 0;
  /** Bytes of the body that have not arrived. */
  #missing = 0;
  #answer = Promise.withResolvers<number>();

  constructor(port: number) {
    this.#socket = failIfClosed(connect({ port, host: '127.0.0.1', noDelay: true }));
    this.#socket.on('data', (chunk) => this.#received(chunk as Buffer));
  }

  /** Throws for an answer with another status. */
  async ask(request: Buffer, expected: readonly number[]): Promise<void> {
    this.#answer = Promise.withResolvers();
    this.#socket.write(request);
    const status = await this.#answer.promise;
    if (!expected.includes(status))
      throw new Error(`opcode ${request[HeaderOffset.opcode]} was answered with status ${status}`);
  }

  close(): void {
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    const added = chunk.copy(this.#header, this.#headerLength);
    const isInHeader = this.#headerLength < headerBytes;
    this.#headerLength += added;
    if (this.#headerLength < headerBytes) return;
    if (isInHeader) this.#missing = this.#header.readUInt32BE(HeaderOffset.bodyBytes);
    this.#missing -= chunk.length - added;
    if (this.#missing > 0) return;
    this.#headerLength = 0;
    this.#answer.resolve(this.#header.readUInt16BE(HeaderOffset.status));
  }
}

function latenciesOf(times: number[]): Latencies {
  times.sort((a, b) => a - b);
  const quantile = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  const [p50Ms, p99Ms, p999Ms] = [quantile(0.5), quantile(0.99), quantile(0.999)];
  return { count: times.length, p50Ms, p99Ms, p999Ms, longestMs: times.at(-1) ?? Number.NaN };
}

process.stdout.write(JSON.stringify(await measure(JSON.parse(process.argv[2] as string) as MixedLoad)));
