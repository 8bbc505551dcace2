// The longest turn of the data thread, in a process of its own, while hostile clients send the most expensive requests: its processor
// time, its elapsed time, and how long a read on another connection waits. No attack may hold the thread for more than `turnMaxMs` of
// processor time; the report ends with those that did. The control measures an idle node.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { usualFeatures } from '../test/support/client-features.ts';
import { KvConnection, type Reply } from '../test/support/kv-connection.ts';
import { Opcode } from '../test/support/opcodes.ts';
import { type Attack, attacks, prepare } from './support/hostile-requests.ts';
import type { TurnsCommand, TurnsReport } from './support/turns-service.ts';

const turnMaxMs = 10;
/** Texts of the attacks whose longest turn took more than `turnMaxMs`. */
const exceeding: string[] = [];
/** Only the first attacks run in a smoke test: those on large documents. */
const smokeAttacks = 8;
/** Operations of an administrator, and the bucket that they change. */
const administration = [
  ['flush', 'm'],
  ['drop', 'c'],
] as const;

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const service = fork(fileURLToPath(new URL('./support/turns-service.ts', import.meta.url)));
  const port = await nextMessage<number>(service);
  /** `npm run bench -- turns <text>`: only attacks whose name contains the text. */
  const only = process.argv[3];
  // Each connection has documents of 20 MB of its own.
  const connections = smoke ? 1 : 4;
  await prepare(await login(port), { connections, withFullVbucket: !smoke });
  await measure(service, port, control, { connections, rounds: 1 });
  const wanted = attacks.filter(({ name }) => only === undefined || name.includes(only));
  for (const attack of smoke ? attacks.slice(0, smokeAttacks) : wanted)
    await measure(service, port, attack, { connections, rounds: smoke ? 1 : attack.rounds });
  for (const [command, bucket] of smoke ? [] : administration)
    if (only === undefined || command.includes(only))
      await measureAdministration(service, port, command, bucket, 1_000_000);
  console.log(`more than ${turnMaxMs} ms: ${exceeding.join(', ') || 'none'}`);
  service.send('stop');
  await new Promise((resolve) => service.once('exit', resolve));
}

async function measure(
  service: ChildProcess,
  port: number,
  attack: Attack,
  { connections, rounds }: { connections: number; rounds: number },
): Promise<void> {
  const clients = await Promise.all(Array.from({ length: connections }, () => login(port)));
  for (const client of clients) await attack.begin?.(client);
  await watched(service, port, attack.name, async () => {
    await Promise.all(clients.map((client, index) => send(client, attack, rounds, index)));
  });
  for (const client of clients) client.close();
}

/** Fills a bucket, then measures an operation of an administrator on it: the flush of the bucket, or the drop of its collection. */
async function measureAdministration(
  service: ChildProcess,
  port: number,
  command: TurnsCommand,
  bucket: string,
  count: number,
): Promise<void> {
  const client = await login(port, bucket);
  const collection = bucket === 'c' ? 8 : 0;
  const batch = 1000;
  await watched(service, port, `SET of ${count} new documents, by ${batch}`, async () => {
    for (let from = 0; from < count; from += batch) {
      client.send(
        ...Array.from({ length: batch }, (_, at) => ({
          opcode: Opcode.set,
          vb: (from + at) % 1024,
          key: Buffer.concat([Buffer.from([collection]), Buffer.from(`key ${from + at}`)]),
          extras: Buffer.alloc(8),
          value: Buffer.from('1'),
        })),
      );
      for (let at = 0; at < batch; at++) if ((await client.next())?.status !== 0) throw new Error('refused');
    }
  });
  client.close();
  await watched(service, port, `${command} of ${count} documents`, async () => {
    service.send(command);
    await nextMessage(service);
    await new Promise((resolve) => setTimeout(resolve, afterCommandMs));
  });
}

/** How long turns are measured after the answer to a command, whose work goes on. */
const afterCommandMs = 2_000;

/** Measures the turns of the service during `act`, and the reads of another client. */
async function watched(
  service: ChildProcess,
  port: number,
  name: string,
  act: () => Promise<void>,
): Promise<void> {
  const watcher = await login(port);
  await report(service);
  const waits: number[] = [];
  let isDone = false;
  const watching = watch(watcher, waits, () => isDone);
  const fromMs = performance.now();
  await act();
  const tookMs = performance.now() - fromMs;
  isDone = true;
  await watching;
  const { longestCpuMs, longestMs } = await report(service);
  waits.sort((a, b) => a - b);
  const percentile = waits[Math.floor(waits.length * 0.99)] ?? 0;
  const ms = (value: number): string => value.toFixed(1).padStart(7);
  const isLong = longestCpuMs > turnMaxMs;
  if (isLong) exceeding.push(`${name} (${longestCpuMs.toFixed(1)})`);
  console.log(
    `${isLong ? 'LONG' : 'ok  '} ${name.padEnd(44)} longest turn ${ms(longestCpuMs)} ms of processor time, ${ms(longestMs)} ms, ` +
      `reads p99 ${percentile.toFixed(1)}, longest ${(waits.at(-1) ?? 0).toFixed(1)} ms, took ${tookMs.toFixed(0)} ms`,
  );
  watcher.close();
}

const control: Attack = { name: 'nothing (control)', rounds: 1, requests: () => [] };

async function send(client: KvConnection, attack: Attack, rounds: number, index: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const requests = attack.requests(index);
    const isLast = attack.isLast ?? isMarked;
    client.send(...requests, { opcode: Opcode.noop, opaque: markOpaque });
    for (;;) {
      const reply = await client.next();
      if (reply === null) throw new Error(`${attack.name}: the connection was closed`);
      if (isLast(reply)) break;
      if (!isMarked(reply)) attack.check?.(reply);
    }
  }
}

/** Marks the NOOP that follows the requests of a round. */
const markOpaque = 0xffffffff;
const isMarked = ({ opcode, opaque }: Reply): boolean => opcode === Opcode.noop && opaque === markOpaque;

async function watch(client: KvConnection, waits: number[], isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    const fromMs = performance.now();
    await client.ask({ opcode: Opcode.get, key: Buffer.from('\0small') });
    waits.push(performance.now() - fromMs);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function login(port: number, bucket = 'b'): Promise<KvConnection> {
  const client = await KvConnection.open(port);
  await client.hello(usualFeatures);
  await client.plain('admin', 'password');
  await client.select(bucket);
  return client;
}

async function report(service: ChildProcess): Promise<TurnsReport> {
  service.send('report');
  return await nextMessage<TurnsReport>(service);
}

const nextMessage = async <T>(child: ChildProcess): Promise<T> => (await once(child, 'message'))[0] as T;
