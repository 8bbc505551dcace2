// Random commands for a bucket and its model, which fast-check shrinks, and the kinds of bucket to run them on.
import fc from 'fast-check';
import type { BucketType, EvictionPolicy } from '#kv/admin.ts';
import { DurabilityLevel, StoreMode } from '#kv/data/documents.ts';
import { BucketRun } from './bucket-run.ts';
import { type CasChoice, quotaAmple, runPending, vbucketCount } from './compared-bucket.ts';
import { type DiskUnderTest, memoryDisk, sqliteDisk } from './disk-under-test.ts';
import { randomFrom } from './random.ts';

export interface BucketKind {
  name: string;
  type: BucketType;
  policy: EvictionPolicy;
  disk: (() => DiskUnderTest) | null;
  /** How many sequences a short test runs, and the most commands in one. */
  size: { runs: number; length: number };
}

const quick = { runs: 10, length: 400 };
const slow = { runs: 4, length: 150 };

export const bucketKinds: readonly BucketKind[] = [
  { name: 'valueOnly in memory', type: 'native', policy: 'valueOnly', disk: memoryDisk, size: quick },
  { name: 'fullEviction in memory', type: 'native', policy: 'fullEviction', disk: memoryDisk, size: quick },
  { name: 'valueOnly on SQLite', type: 'native', policy: 'valueOnly', disk: sqliteDisk, size: slow },
  { name: 'fullEviction on SQLite', type: 'native', policy: 'fullEviction', disk: sqliteDisk, size: slow },
  { name: 'noEviction without a disk', type: 'ephemeral', policy: 'noEviction', disk: null, size: quick },
  { name: 'nruEviction without a disk', type: 'ephemeral', policy: 'nruEviction', disk: null, size: quick },
];

type Setup = { run: BucketRun; disk: DiskUnderTest | null };

class Command implements fc.AsyncCommand<object, Setup> {
  private readonly text: string;
  private readonly act: (setup: Setup) => void | Promise<void>;

  constructor(text: string, act: (setup: Setup) => void | Promise<void>) {
    this.text = text;
    this.act = act;
  }

  check(): boolean {
    return true;
  }

  async run(_model: object, setup: Setup): Promise<void> {
    await this.act(setup);
    setup.run.check();
  }

  toString(): string {
    return this.text;
  }
}

type Fields<T> = { [K in keyof T]: fc.Arbitrary<T[K]> };

/** A command of random fields, drawn `weight` times as often as one of weight 1. */
function command<T extends object>(
  weight: number,
  name: string,
  fields: Fields<T>,
  act: (setup: Setup, values: T) => void | Promise<void>,
): fc.WeightedArbitrary<fc.AsyncCommand<object, Setup>> {
  const arbitrary = fc
    .record(fields)
    .map((values) => new Command(`${name} ${JSON.stringify(values)}`, (setup) => act(setup, values as T)));
  return { weight, arbitrary };
}

const keyPlace = {
  vb: fc.nat(vbucketCount - 1),
  collection: fc.nat(1),
  name: fc.nat(4),
};
const placeOf = (run: BucketRun, at: { vb: number; collection: number; name: number }) => ({
  vb: at.vb,
  key: run.key(at.collection, at.name),
});

const cas = fc.constantFrom<CasChoice>('none', 'none', 'right', 'wrong');
const durability = fc.constantFrom(
  DurabilityLevel.none,
  DurabilityLevel.none,
  DurabilityLevel.none,
  DurabilityLevel.none,
  DurabilityLevel.majority,
  DurabilityLevel.majorityAndPersistActive,
  DurabilityLevel.persistToMajority,
);
/** None, soon, late, and a time long ago. */
const expiry = fc.constantFrom(0, 0, 0, 1, 2, 4, 30, 100_000, 1_600_000_000);
const xattr = fc.constantFrom(null, null, '1', '"text"');
const bodyBytes = fc.oneof(fc.nat(60), fc.nat(60), fc.nat(4000));
const mode = fc.constantFrom(
  StoreMode.set,
  StoreMode.set,
  StoreMode.set,
  StoreMode.add,
  StoreMode.replace,
  StoreMode.remove,
);

const storeFields = {
  ...keyPlace,
  mode,
  cas,
  durability,
  expiry,
  sys: xattr,
  user: xattr,
  bodyBytes,
  flags: fc.nat(3),
  preserveExpiry: fc.boolean(),
  keepXattrs: fc.boolean(),
  countsTombstone: fc.constantFrom(false, false, false, true),
};

const noFields = {};
/** Seconds; 0: the maximum of the bucket applies; -1: none applies. */
const collectionMaxTtl = fc.constantFrom(-1, 0, 2);
const quota = fc.constantFrom(1, 100_000, 200_000, quotaAmple);

function commandsOf({ disk, policy }: BucketKind): fc.WeightedArbitrary<fc.AsyncCommand<object, Setup>>[] {
  const isNru = policy === 'nruEviction';
  const common = [
    command(40, 'store', storeFields, ({ run }, fields) => {
      const { sys, bodyBytes, mode, cas } = fields;
      const isRemoval = mode === StoreMode.remove;
      const filler = String.fromCharCode(97 + fields.flags).repeat(bodyBytes);
      run.store(placeOf(run, fields), {
        ...fields,
        cas: mode === StoreMode.add ? 'none' : cas,
        // The model does not know the expiry of an evicted document.
        preserveExpiry: fields.preserveExpiry && !isNru,
        keepXattrs: fields.keepXattrs && !isNru,
        content: { sys, user: isRemoval ? null : fields.user, body: isRemoval ? '' : filler },
      });
    }),
    command(12, 'remove', { ...keyPlace, cas, durability }, ({ run }, fields) =>
      run.remove(placeOf(run, fields), fields.cas, fields.durability),
    ),
    command(8, 'touch', { ...keyPlace, expiry, durability }, ({ run }, fields) =>
      run.touch(placeOf(run, fields), fields.expiry, fields.durability),
    ),
    command(6, 'lock', { ...keyPlace, seconds: fc.constantFrom(0, 1, 5, 31) }, ({ run }, fields) =>
      run.lock(placeOf(run, fields), fields.seconds),
    ),
    command(4, 'unlock', { ...keyPlace, cas }, ({ run }, fields) =>
      run.unlock(placeOf(run, fields), fields.cas),
    ),
    command(
      12,
      'find',
      { ...keyPlace, kind: fc.constantFrom('find' as const, 'findAny' as const) },
      ({ run }, fields) => run.find(placeOf(run, fields), fields.kind),
    ),
    command(10, 'tick', { steps: fc.integer({ min: 1, max: 24 }) }, ({ run }, { steps }) =>
      run.tick(steps * 125),
    ),
    command(1, 'tick long', { seconds: fc.integer({ min: 3, max: 40 }) }, ({ run }, { seconds }) =>
      run.tick(seconds * 1000),
    ),
    command(8, 'runPending', noFields, () => runPending()),
    command(6, 'quota', { quota }, ({ run }, fields) => run.setRules({ quotaBytes: fields.quota })),
    command(1, 'maxTTL', { bucket: fc.constantFrom(0, 3), collection: collectionMaxTtl }, ({ run }, fields) =>
      run.setMaxTtl(fields.bucket, fields.collection),
    ),
    command(1, 'replace collection', { maxTtl: collectionMaxTtl }, ({ run }, { maxTtl }) =>
      run.replaceCollection(maxTtl),
    ),
    command(
      1,
      'compact',
      { purgeAge: fc.constantFrom('all' as const, 0, 2, 100_000) },
      ({ run }, { purgeAge }) => run.compact(purgeAge),
    ),
    command(1, 'flush', noFields, ({ run }) => run.flush()),
    command(1, 'compare all', noFields, ({ run }) => run.compareAll()),
  ];
  if (disk === null) return common;
  return [
    ...common,
    command(2, 'wait for disk', { vb: keyPlace.vb, timeoutMs: fc.nat(1000) }, ({ run }, fields) =>
      run.waitForDisk(fields.vb, fields.timeoutMs),
    ),
    command(8, 'evict', keyPlace, ({ run }, fields) => run.evict(placeOf(run, fields))),
    command(2, 'restart', noFields, ({ run }) => run.restart()),
    command(
      2,
      'crash',
      { unsynced: fc.constantFrom('lost' as const, 'kept' as const) },
      ({ run }, { unsynced }) => run.crash(unsynced),
    ),
    command(2, 'hold', { what: fc.constantFrom('syncs' as const, 'reads' as const) }, ({ disk }, { what }) =>
      disk?.hold(what),
    ),
    command(3, 'release', noFields, ({ disk }) => disk?.release()),
    command(1, 'fail next commit', noFields, ({ disk }) => disk?.failNextCommit()),
  ];
}

export interface RunCounts {
  runs: number;
  operations: number;
  restarts: number;
  crashes: number;
  fetches: number;
  evictions: number;
  expired: number;
}

/** Runs random sequences of commands; throws the shortest one that makes bucket and model differ. */
export async function tryBucketKind(
  kind: BucketKind,
  options: { seed: number; runs: number; length: number },
): Promise<RunCounts> {
  const tally: RunCounts = {
    runs: 0,
    operations: 0,
    restarts: 0,
    crashes: 0,
    fetches: 0,
    evictions: 0,
    expired: 0,
  };
  const commands = fc.commands([fc.oneof(...commandsOf(kind))], { maxCommands: options.length, size: 'max' });
  const property = fc.asyncProperty(commands, async (sequence) => {
    const disk = kind.disk?.() ?? null;
    const run = new BucketRun({
      type: kind.type,
      policy: kind.policy,
      disk,
      random: randomFrom(options.seed),
    });
    try {
      await run.start();
      await fc.asyncModelRun(() => ({ model: {}, real: { run, disk } }), sequence);
      await run.stop();
    } finally {
      await disk?.remove();
    }
    tally.runs++;
    for (const [name, count] of Object.entries(run.counts)) tally[name as keyof typeof run.counts] += count;
  });
  await fc.assert(property, { seed: options.seed, numRuns: options.runs });
  return tally;
}
