// The range scans of a bucket: each has listed the keys of its range when it was made, and hands documents out as the
// client goes on.

export interface Scan {
  /** Sixteen random bytes. */
  readonly id: Buffer;
  readonly vb: number;
  readonly collection: number;
  readonly keyOnly: boolean;
  readonly withXattrs: boolean;
  /** Sorted, with the collection id in front. */
  keys: readonly Buffer[];
  /** The place of the next key to hand out. */
  next: number;
  /** Of the request to go on that is under way. */
  progress: ScanProgress | null;
  /** Items read from disk by their places, null for those that are gone. */
  readonly ahead: Map<number, Buffer | null>;
  aheadBytes: number;
  readonly endsAtMs: number;
}

export interface ScanProgress {
  items: number;
  bytes: number;
  readonly untilMs: number;
}

const scansMax = 1024;
/** Bytes of listed keys, of all scans together. */
const keyBytesMax = 64 * 1024 * 1024;
const lifetimeMs = 180_000;

/** Bytes that one scan has read ahead, beside the item that is next. */
const aheadBytesMax = 256 * 1024;

/** What there is no room for is read again when its turn comes. */
export function keepAhead(scan: Scan, place: number, item: Buffer | null): void {
  const bytes = item?.length ?? 0;
  if (place !== scan.next && scan.aheadBytes + bytes > aheadBytesMax) return;
  scan.ahead.set(place, item);
  scan.aheadBytes += bytes;
}

export function forgetAhead(scan: Scan): void {
  scan.ahead.clear();
  scan.aheadBytes = 0;
}

export class Scans {
  private readonly scans = new Map<string, Scan>();
  private keyBytes = 0;

  all(): Iterable<Scan> {
    return this.scans.values();
  }

  /** Bytes that the keys of one scan more may take, 0 when no scan can be made. */
  room(nowMs: number): number {
    for (const scan of this.scans.values()) {
      if (scan.endsAtMs > nowMs) break;
      this.remove(scan);
    }
    return this.scans.size >= scansMax ? 0 : Math.max(keyBytesMax - this.keyBytes, 0);
  }

  add(given: Pick<Scan, 'id' | 'vb' | 'collection' | 'keyOnly' | 'withXattrs'>, nowMs: number): Scan {
    const scan: Scan = {
      ...given,
      keys: [],
      next: 0,
      progress: null,
      ahead: new Map(),
      aheadBytes: 0,
      endsAtMs: nowMs + lifetimeMs,
    };
    this.scans.set(scan.id.toString('hex'), scan);
    return scan;
  }

  fill(scan: Scan, keys: readonly Buffer[]): void {
    scan.keys = keys;
    if (this.scans.get(scan.id.toString('hex')) === scan) this.keyBytes += bytesOf(keys);
  }

  find(id: string, nowMs: number): Scan | undefined {
    const scan = this.scans.get(id);
    if (scan === undefined || scan.endsAtMs > nowMs) return scan;
    this.remove(scan);
    return undefined;
  }

  remove(scan: Scan): void {
    if (this.scans.delete(scan.id.toString('hex'))) this.keyBytes -= bytesOf(scan.keys);
  }

  clear(): void {
    this.scans.clear();
    this.keyBytes = 0;
  }
}

const bytesOf = (keys: readonly Buffer[]): number => keys.reduce((sum, key) => sum + key.length, 0);
