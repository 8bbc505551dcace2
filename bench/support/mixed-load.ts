// A process that reads and writes at a steady rate and reports the latencies. One of its threads only sleeps, a millisecond at a time, and
// reports how late it wakes up: the delay that the machine alone adds.
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { protocolOf } from './load-protocols.ts';

export interface MixedLoad {
  readonly port: number;
  readonly username: string;
  readonly bucket: string;
  readonly connections: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface MixedReport {
  readonly requests: Latencies;
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
  const times: number[] = [];
  const until = performance.now() + options.seconds * 1000;
  const paceMs = (1000 * options.connections) / options.perSecond;
  const client = async (): Promise<void> => {
    const socket = connect({ port: options.port, host: '127.0.0.1', noDelay: true });
    let missing = 0;
    let header = Buffer.alloc(0);
    let answered = (): void => {};
    socket.on('data', (chunk: Buffer) => {
      for (let rest = chunk; rest.length > 0; ) {
        if (missing === 0) {
          const wanted = protocol.headerBytes - header.length;
          header = Buffer.concat([header, rest.subarray(0, wanted)]);
          rest = rest.subarray(wanted);
          if (header.length < protocol.headerBytes) return;
          missing = header.readUInt32BE(8);
          header = Buffer.alloc(0);
        }
        const taken = Math.min(missing, rest.length);
        missing -= taken;
        rest = rest.subarray(taken);
        if (missing === 0) answered();
      }
    });
    const ask = (request: Buffer): Promise<void> =>
      new Promise((resolve) => {
        answered = resolve;
        socket.write(request);
      });
    for (const request of protocol.logIn) await ask(request);
    for (let due = performance.now() + Math.random() * paceMs; due < until; due += paceMs) {
      const ahead = due - performance.now();
      if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
      const began = performance.now();
      await ask(requestOf());
      times.push(performance.now() - began);
    }
    socket.destroy();
  };
  const value = Buffer.alloc(valueBytes, 'v');
  const requestOf = (): Buffer => {
    const key = `user:profile:${Math.floor(Math.random() * keyCount)}`;
    if (Math.random() >= writeShare) return protocol.get(key);
    const request = protocol.set(key, value);
    if (Math.random() < expiringShare) request.writeUInt32BE(expirySeconds, 28);
    return request;
  };
  await Promise.all(Array.from({ length: options.connections }, client));
  return { requests: latenciesOf(times), machine: latenciesOf(await late) };
}

function latenciesOf(times: number[]): Latencies {
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
  const [p50Ms, p99Ms, p999Ms] = [at(0.5), at(0.99), at(0.999)];
  return { count: times.length, p50Ms, p99Ms, p999Ms, longestMs: times.at(-1) ?? Number.NaN };
}

process.stdout.write(JSON.stringify(await measure(JSON.parse(process.argv[2] as string) as MixedLoad)));
