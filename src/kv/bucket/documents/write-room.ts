// Whether memory has room for another version. Close to the quota a write evicts items itself.
import { Status } from '#wire/status.ts';
import { Bit } from '../../memory/layout.ts';
import { checkSize } from '../../vbucket/drafts.ts';
import type { ItemPosition } from '../../vbucket/item-position.ts';
import type { Draft } from '../../vbucket/items.ts';
import type { Vbuckets } from '../../vbucket/vbuckets.ts';
import type { MemoryKeeper } from '../quota/memory-keeper.ts';
import type { BucketRules } from '../rules.ts';

/** Above this many dirty bytes in a vbucket, the disk is too slow for its writes: they get a temporary failure. */
const dirtyBytesPerVbucketMax = 64 * 1024 * 1024;

export interface WriteRoomOptions {
  rules: BucketRules;
  vbuckets: Vbuckets;
  keeper: MemoryKeeper;
}

export class WriteRoom {
  /** Writes refused with a temporary failure: memory had no room, or too many bytes of the vbucket waited for the disk. */
  refusals = 0;
  private readonly rules: BucketRules;
  private readonly vbuckets: Vbuckets;
  private readonly keeper: MemoryKeeper;
  /** The last write found memory above the high watermark. */
  private isNearQuota = false;

  constructor({ rules, vbuckets, keeper }: WriteRoomOptions) {
    this.rules = rules;
    this.vbuckets = vbuckets;
    this.keeper = keeper;
  }

  /** Called before a write looks its key up, since eviction moves items. */
  prepare(): void {
    if (this.isNearQuota) this.keeper.makeRoom();
  }

  /** Checks that the draft of the item at `position` is small enough and fits; deletions need no room. */
  check(position: ItemPosition, draft: Draft): Status {
    const isUpdate = (draft.bits & Bit.deleted) === 0;
    if (!isUpdate || !this.isExceededBy(position, draft)) return checkSize(draft);
    this.refusals++;
    return Status.temporaryFailure;
  }

  /** Whether memory has no room for the draft, or too many bytes of its vbucket wait for the disk. */
  isExceededBy(position: ItemPosition, draft: Draft): boolean {
    const { columns } = this.vbuckets;
    if ((columns.dirtyBytes[position.vb] as number) > dirtyBytesPerVbucketMax) return true;
    const used = this.keeper.usedBytes + this.vbuckets.growth(position, draft);
    this.isNearQuota = used > this.keeper.highBytes;
    if (this.isNearQuota) this.keeper.relievePressure();
    return used > this.rules.quotaBytes;
  }
}
