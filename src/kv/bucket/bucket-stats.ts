// What a bucket's engine counts.

export interface BucketStats {
  items: number;
  tombstones: number;
  memUsed: number;
  dirtyItems: number;
  /** Documents whose value is on disk only. */
  nonResident: number;
  /** Since start. */
  diskFetches: number;
  evictions: number;
  expired: number;
  /** Live items by collection id in lower-case hex. */
  collectionItems: Record<string, number>;
}
