// A connection without a socket, on a bucket without a disk: frames in, replies out, in one call.
import { fullGrants } from '../../src/auth/grants.ts';
import { HashingQueue } from '../../src/auth/hashing-queue.ts';
import { realKdf } from '../../src/auth/kdf.host.ts';
import { LoginThrottle } from '../../src/auth/login-throttle.ts';
import { noTraffic } from '../../src/kv/activity.ts';
import type { BucketSpec } from '../../src/kv/admin.ts';
import { Bucket } from '../../src/kv/bucket/bucket.ts';
import { handlers } from '../../src/kv/commands/index.ts';
import { Connection } from '../../src/kv/connection/connection.ts';
import { connectionLimits } from '../../src/kv/connection/connection-limits.ts';
import { InputBudget } from '../../src/kv/connection/input-budget.ts';
import { Dispatcher } from '../../src/kv/dispatch/dispatcher.ts';
import { HeavyQueue } from '../../src/kv/heavy/heavy-queue.ts';
import { inlineHeavy } from '../../src/kv/heavy/inline.ts';
import type { HeavyJob, HeavyResult } from '../../src/kv/heavy/jobs.ts';
import { Directory } from '../../src/kv/served/directory.ts';
import { ServedBucket } from '../../src/kv/served/served-bucket.ts';
import { TurnClock } from '../../src/kv/turn-clock.ts';
import { figuresOf } from '../../src/kv/vbucket/figures.ts';
import { Now } from '../../src/kv/vbucket/now.ts';
import { realClock } from '../../src/ports/clock.ts';
import { silentLog } from '../../src/ports/log.ts';
import { realRandom } from '../../src/ports/random.ts';
import { Feature } from '../../src/wire/features.ts';
import { Output } from '../../src/wire/output.ts';
import { usualFeatures } from './client-features.ts';
import { aBucket, aUser } from './data-service.ts';

/** The features that the connection has, as after a HELLO. */
const features = [...usualFeatures, Feature.unorderedExecution];

export interface BareConnection extends AsyncDisposable {
  connection: Connection;
  /** The bytes that the connection sent to its socket: the memory of documents itself, other bytes copied, because the output is reused. */
  sent: Buffer[];
  /** Finished heavy jobs. */
  jobs: { job: HeavyJob; result: HeavyResult }[];
  /** Connections with work to do. */
  woken: Connection[];
  /** Memory that is reserved for large frames. */
  input: InputBudget;
}

/** A connection of an administrator on an ephemeral bucket, whose socket accepts everything, and with `keepsSent` keeps it. */
export async function aBareConnection({
  keepsSent = false,
  ...limits
}: { keepsSent?: boolean } & Partial<
  Pick<BucketSpec, 'quotaBytes' | 'evictionPolicy'>
> = {}): Promise<BareConnection> {
  const sent: Buffer[] = [];
  const jobs: BareConnection['jobs'] = [];
  const woken: Connection[] = [];
  const heavy = inlineHeavy(realClock);
  const now = new Now();
  const directory = new Directory();
  const output = new Output();
  const parts = { clock: realClock, random: realRandom, log: silentLog, kdf: realKdf };
  const logins = { throttle: new LoginThrottle(realClock), hashingQueue: new HashingQueue() };
  const environment = {
    ...parts,
    ...logins,
    directory,
    heavy: new HeavyQueue({
      perform: async (job) => {
        const result = await heavy.perform(job);
        jobs.push({ job, result });
        return result;
      },
      stop: () => heavy.stop(),
    }),
    version: 'bare',
    secret: Buffer.alloc(32),
    startedMs: 0,
    connections: () => [],
    traffic: noTraffic(),
    verifyExternal: async () => false,
    loginRefused: () => {},
    limits: () => ({}),
  };
  const spec = aBucket('b', { type: 'ephemeral', evictionPolicy: 'noEviction', ...limits });
  const rules = { quotaBytes: spec.quotaBytes, maxTtl: 0, durabilityMinLevel: 0, replicaNumber: 0 } as const;
  const { evictionPolicy, manifest } = spec;
  const bucket = new Bucket({ type: 'ephemeral', evictionPolicy, rules, manifest, now, ...parts });
  await bucket.start();
  const served = new ServedBucket(spec);
  const { documents, changes, memory } = bucket;
  const figures = () => served.report();
  const { compaction, keys, timings } = bucket;
  const vbucketFigures = (vb: number) => figuresOf(bucket.columns, vb);
  const activity = () => bucket.activity();
  served.open({ documents, memory, changes, figures, activity, keys, timings, compaction, vbucketFigures });
  const tick = () => now.set(realClock.wallMs(), realClock.monotonicMs());
  const host = {
    dispatcher: new Dispatcher(environment, output, handlers),
    output,
    input: new InputBudget(connectionLimits.input),
    traffic: noTraffic(),
    // This clock stands still, so that no turn reaches its time limit.
    turns: new TurnClock({ ...realClock, monotonicMs: () => 0 }),
    tick,
    nowMs: () => realClock.monotonicMs(),
    wake: (connection: Connection) => void woken.push(connection),
    discard: () => {},
  };
  const nothing = () => {};
  const transport = {
    write: (bytes: Buffer, length: number) => {
      const isOfDocument = bytes.buffer instanceof SharedArrayBuffer;
      if (keepsSent)
        sent.push(isOfDocument ? bytes.subarray(0, length) : Buffer.from(bytes.subarray(0, length)));
      return true;
    },
    unsentBytes: 0,
    markAuthenticated: nothing,
    pause: nothing,
    resume: nothing,
    end: nothing,
    destroy: nothing,
  };
  const connection = new Connection(host, transport, 'bare');
  connection.setAuthenticated(true);
  connection.session.grant(features);
  directory.replaceUsers([aUser('admin', 'password', fullGrants())]);
  connection.session.authenticate(directory.user('admin')!, directory);
  connection.session.select(served);
  return { connection, sent, jobs, woken, input: host.input, [Symbol.asyncDispose]: () => bucket.destroy() };
}
