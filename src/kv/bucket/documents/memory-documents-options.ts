// Options of the documents of a bucket.
import type { BucketType } from '../../admin.ts';
import type { ClockDrift } from '../../vbucket/clock-drift.ts';
import type { EventRecorder } from '../../vbucket/event-recorder.ts';
import type { Expirer } from '../../vbucket/expirer.ts';
import type { LiveCollections } from '../../vbucket/live-collections.ts';
import type { Residency } from '../../vbucket/residency.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { DurableWrites } from '../durability/durable-writes.ts';
import type { VbucketProgress } from '../durability/progress.ts';
import type { DiskReads } from '../fetch/fetched-documents.ts';
import type { MemoryKeeper } from '../quota/memory-keeper.ts';
import type { BucketRules } from '../rules.ts';

export interface MemoryDocumentsOptions {
  type: BucketType;
  rules: BucketRules;
  vbuckets: Vbuckets;
  collections: LiveCollections;
  /** Records the system events of scopes and collections; a vbucket that lacks some gets them before a client uses it. */
  events: Pick<EventRecorder, 'isBehind' | 'catchUp'>;
  durableWrites: DurableWrites;
  progress: VbucketProgress;
  residency: Residency;
  keeper: MemoryKeeper;
  expirer: Expirer;
  drift: ClockDrift;
  /** Null in buckets without a disk. */
  reads: DiskReads | null;
  /** Called when a vbucket has a change to write; `isUrgent` when a client waits for it. */
  onDirty: (vb: number, isUrgent: boolean) => void;
  /** Called when a client polls how far this vbucket is persisted, waiting for its changes. */
  onPersistenceAwaited: (vb: number) => void;
}
