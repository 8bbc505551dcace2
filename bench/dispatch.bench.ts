// The data path of one connection without sockets, from request frames to replies: its cost without system calls.
import { crc32 } from 'node:zlib';
import { fullGrants } from '../src/auth/grants.ts';
import { HashingQueue } from '../src/auth/hashing-queue.ts';
import { realKdf } from '../src/auth/kdf.host.ts';
import { LoginThrottle } from '../src/auth/login-throttle.ts';
import { noTraffic } from '../src/kv/activity.ts';
import { Bucket } from '../src/kv/bucket/bucket.ts';
import { handlers } from '../src/kv/commands/index.ts';
import { Connection, connectionLimits } from '../src/kv/connection/connection.ts';
import { InputBudget } from '../src/kv/connection/input-budget.ts';
import { Dispatcher } from '../src/kv/dispatch/dispatcher.ts';
import { HeavyQueue } from '../src/kv/heavy/heavy-queue.ts';
import { inlineHeavy } from '../src/kv/heavy/inline.ts';
import { Directory } from '../src/kv/served/directory.ts';
import { ServedBucket } from '../src/kv/served/served-bucket.ts';
import { TurnClock } from '../src/kv/turn-clock.ts';
import { Now } from '../src/kv/vbucket/now.ts';
import { realClock } from '../src/ports/clock.ts';
import { silentLog } from '../src/ports/log.ts';
import { realRandom } from '../src/ports/random.ts';
import { encodeRequest, Output } from '../src/wire/output.ts';
import { aBucket, aUser } from '../test/support/data-service.ts';

const keyCount = 10_000;
const features = [0x04, 0x06, 0x07, 0x0a, 0x0b, 0x0e, 0x10, 0x11, 0x12, 0x14, 0x15];

async function aConnection(): Promise<{ connection: Connection; bucket: Bucket }> {
  const now = new Now();
  const directory = new Directory();
  const output = new Output();
  const parts = { clock: realClock, random: realRandom, log: silentLog, kdf: realKdf };
  const logins = { throttle: new LoginThrottle(realClock), hashingQueue: new HashingQueue() };
  const environment = {
    ...parts,
    ...logins,
    directory,
    heavy: new HeavyQueue(inlineHeavy(realClock)),
    version: 'bench',
    secret: Buffer.alloc(32),
    startedMs: 0,
    connections: () => [],
    traffic: noTraffic(),
    verifyExternal: async () => false,
    loginRefused: () => {},
    limits: () => ({}),
  };
  const spec = aBucket('b', { type: 'ephemeral' });
  const rules = { quotaBytes: spec.quotaBytes, maxTtl: 0, durabilityMinLevel: 0, replicaNumber: 0 } as const;
  const bucket = new Bucket({ type: 'ephemeral', rules, manifest: spec.manifest, now, ...parts });
  await bucket.start();
  const served = new ServedBucket(spec);
  const { documents, changes } = bucket;
  const figures = () => served.report();
  const { compaction, keys, timings } = bucket;
  const vbucketFigures = (vb: number) => bucket.vbucketFigures(vb);
  const activity = () => bucket.activity();
  served.open({ documents, changes, figures, activity, keys, timings, compaction, vbucketFigures });
  const tick = () => now.set(realClock.wallMs(), realClock.monotonicMs());
  const host = {
    dispatcher: new Dispatcher(environment, output, handlers),
    output,
    input: new InputBudget(connectionLimits.input),
    traffic: noTraffic(),
    // Nothing ends a turn here.
    turns: new TurnClock({ ...realClock, monotonicMs: () => 0 }),
    tick,
    nowMs: () => realClock.monotonicMs(),
    wake: () => {},
    forget: () => {},
  };
  const nothing = () => {};
  const transport = {
    write: () => true,
    unsentBytes: 0,
    authenticated: nothing,
    pause: nothing,
    resume: nothing,
    end: nothing,
    destroy: nothing,
  };
  const connection = new Connection(host, transport, 'bench');
  connection.session.grant(features);
  directory.replaceUsers([aUser('admin', 'password', fullGrants())]);
  connection.session.authenticate(directory.user('admin')!, directory);
  connection.session.select(served);
  return { connection, bucket };
}

function frames(): { gets: Buffer[]; sets: Buffer[] } {
  const names = Array.from({ length: keyCount }, (_, index) => `user:profile:${(index * 7919) % keyCount}`);
  const head = (name: string) => ({
    key: Buffer.from(`\0${name}`),
    vb: ((crc32(name) >>> 16) & 0x7fff) % 1024,
  });
  const body = { opcode: 1, extras: Buffer.alloc(8), value: Buffer.alloc(256, 118) };
  return {
    gets: names.map((name) => encodeRequest({ opcode: 0, ...head(name) })),
    sets: names.map((name) => encodeRequest({ ...body, ...head(name) })),
  };
}

const chunksOf = (all: Buffer[], size: number): Buffer[] =>
  Array.from({ length: Math.floor(all.length / size) }, (_, at) =>
    Buffer.concat(all.slice(at * size, (at + 1) * size)),
  );

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const { connection, bucket } = await aConnection();
  const { gets, sets } = frames();
  const rounds = smoke ? 2 : 300;
  for (const [what, all] of Object.entries({ sets, gets })) {
    for (const size of [1, 64]) {
      const chunks = chunksOf(all, size);
      let best = Number.POSITIVE_INFINITY;
      for (let round = 0; round < rounds; round++) {
        const start = process.hrtime.bigint();
        for (const chunk of chunks) connection.received(chunk, 0, chunk.length);
        best = Math.min(best, Number(process.hrtime.bigint() - start) / (chunks.length * size));
      }
      console.log(`${what}, ${String(size).padStart(2)} in a read: ${Math.round(best)} ns each at best`);
    }
  }
  await bucket.destroy();
}
