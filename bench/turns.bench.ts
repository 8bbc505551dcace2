// The longest turn of the data thread while hostile clients send it what costs most: late timers in the thread itself, and
// how long a read on another connection waits. What each attack should cost is no more than ten milliseconds.
import { performance } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
import { KvConnection } from '../test/support/kv-connection.ts';
import { type Attack, attacks, prepare } from './support/hostile-requests.ts';
import type { TurnsReport } from './support/turns-service.ts';

const connections = 4;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const service = new Worker(new URL('./support/turns-service.ts', import.meta.url));
  const port = await next<number>(service);
  const only = process.argv[3];
  await prepare(await login(port));
  for (const attack of attacks.filter(({ name }) => only === undefined || name.includes(only))) {
    await measure(service, port, attack, smoke ? 1 : attack.rounds);
  }
  service.postMessage('stop');
  await new Promise((resolve) => service.once('exit', resolve));
}

async function measure(service: Worker, port: number, attack: Attack, rounds: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => login(port)));
  const watcher = await login(port);
  for (const client of clients) await attack.begin?.(client);
  await report(service);
  const waits: number[] = [];
  let isDone = false;
  const watching = watch(watcher, waits, () => isDone);
  const from = performance.now();
  await Promise.all(clients.map((client, index) => send(client, attack, rounds, index)));
  const tookMs = performance.now() - from;
  isDone = true;
  await watching;
  const { longestMs } = await report(service);
  waits.sort((a, b) => a - b);
  const percentile = waits[Math.floor(waits.length * 0.99)] ?? 0;
  console.log(
    `${attack.name.padEnd(44)} longest turn ${longestMs.toFixed(1).padStart(7)} ms, ` +
      `reads p99 ${percentile.toFixed(1)}, longest ${(waits.at(-1) ?? 0).toFixed(1)} ms, took ${tookMs.toFixed(0)} ms`,
  );
  for (const client of [...clients, watcher]) client.close();
}

async function send(client: KvConnection, attack: Attack, rounds: number, index: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const requests = attack.requests(index);
    client.send(...requests, { opcode: 0x0a, opaque: 0xffffffff });
    for (;;) {
      const reply = await client.next();
      if (reply === null) throw new Error(`${attack.name}: the connection was closed`);
      if (reply.opcode === 0x0a && reply.opaque === 0xffffffff) break;
      attack.check?.(reply);
    }
  }
}

async function watch(client: KvConnection, waits: number[], isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const from = performance.now();
    await client.ask({ opcode: 0x00, key: Buffer.from('\0small') });
    waits.push(performance.now() - from);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function login(port: number): Promise<KvConnection> {
  const client = await KvConnection.open(port);
  await client.hello([0x04, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x12, 0x17]);
  await client.plain('admin', 'password');
  await client.select('b');
  return client;
}

async function report(service: Worker): Promise<TurnsReport> {
  service.postMessage('report');
  return await next<TurnsReport>(service);
}

const next = <T>(worker: Worker): Promise<T> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
