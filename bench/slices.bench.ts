// The longest turn that a bucket's background work takes, in processor time, while the bucket is filled, evicts documents and drops a large
// collection: no client is served meanwhile. Other load of the machine hardly affects the processor time.
import { defaultManifest } from '../src/kv/bucket/manifest.ts';
import { MemoryDisk } from '../src/kv/disk/memory-engine.ts';
import { BucketUnderTest } from '../test/support/a-bucket.ts';
import { ManualClock } from '../test/support/manual-clock.ts';

const rules = { quotaBytes: 2 ** 30, maxTtl: 0, durabilityMinLevel: 0, replicaNumber: 0 } as const;
const files = { folder: '/k', bucketUuid: 'k', incarnation: 1, fileCount: 4 };

/** Measures what the bucket schedules. */
class MeasuringClock extends ManualClock {
  longestUs = 0;

  override soon(fire: () => void): void {
    super.soon(() => this.measure(fire));
  }

  override after(delayMs: number, fire: () => void): ReturnType<ManualClock['after']> {
    return super.after(delayMs, () => this.measure(fire));
  }

  takeLongestMs(): string {
    const ms = (this.longestUs / 1000).toFixed(1);
    this.longestUs = 0;
    return ms;
  }

  private measure(fire: () => void): void {
    const cpuBefore = process.threadCpuUsage();
    fire();
    const { user, system } = process.threadCpuUsage(cpuBefore);
    this.longestUs = Math.max(this.longestUs, user + system);
  }
}

/** Lets the clock advance by 25 ms `count` times, and runs what is due. */
async function pass(b: BucketUnderTest, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    b.tick(25);
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function fill(b: BucketUnderTest, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    b.store(`8:k${i}`, { vb: i % 64, value: 'v'.repeat(200) });
    if (i % 2000 === 0) await pass(b, 1);
  }
  await pass(b, 200);
}

export async function run({ smoke }: { smoke: boolean }): Promise<void> {
  const count = smoke ? 3000 : 300_000;
  const [scope] = defaultManifest.scopes;
  if (!scope) throw new Error('a manifest has a scope');
  const withOne = { ...scope, collections: [...scope.collections, { uid: '8', name: 'c' }] };
  for (const isNative of [false, true]) {
    const clock = new MeasuringClock();
    const storage = { disk: new MemoryDisk().engine(), files };
    const manifest = { uid: '2', scopes: [withOne] };
    const b = await new BucketUnderTest({ clock, rules, manifest, ...(isNative && { storage }) }).start();
    const print = (what: string): void =>
      console.log(
        `${isNative ? 'native' : 'ephemeral'}: ${what}: at most ${clock.takeLongestMs()} ms at once`,
      );
    await fill(b, count);
    print('fill');
    if (isNative) {
      b.bucket.setRules({ quotaBytes: count * 260 });
      await pass(b, 300);
      print(`evict ${b.bucket.stats().evictions}`);
    }
    b.bucket.applyManifest({ uid: '3', scopes: [scope] });
    await pass(b, 300);
    print('drop');
    await b.bucket.stop();
  }
}
