// The range scans of a bucket. A scan lists the keys of its range when it is created, and returns documents each time the client
// continues it.

import type { HeldReply } from './held-reply.ts';

export interface ScannedKeys {
  readonly length: number;
  /** Memory of the keys. */
  readonly bytes: number;
  at(index: number): Buffer;
}

const noKeys: ScannedKeys = { length: 0, bytes: 0, at: () => Buffer.alloc(0) };

export interface Scan {
  /** Sixteen random bytes. */
  readonly id: Buffer;
  readonly vb: number;
  readonly collection: number;
  readonly keyOnly: boolean;
  readonly withXattrs: boolean;
  /** Sorted, prefixed by the collection id. */
  keys: ScannedKeys;
  /** How many bytes of the memory that is counted for the keys of all scans belong to this scan. */
  keyBytes: number;
  /** Index of the next key to return. */
  next: number;
  /** State of the last RANGE_SCAN_CONTINUE; null before the first one, and after a complete reply. */
  progress: ScanProgress | null;
  /** Items read from disk, by the index of their key; null for deleted ones. */
  readonly ahead: Map<number, Buffer | null>;
  aheadBytes: number;
  readonly endsAtMs: number;
}

export interface ScanProgress {
  /** Keys looked at, those of deleted documents among them. */
  visited: number;
  items: number;
  bytes: number;
  /** When the request ends even if its batch is not full, by the monotonic clock. */
  readonly untilMs: number;
  /** The request's connection. Once it is gone the request is not run again. */
  readonly connection: { readonly isGone: boolean };
  /** The held reply of the request while items are read from disk: only this request, when it is resumed, continues the scan. */
  waiting: Pick<HeldReply, 'status'> | null;
}

const scansMax = 1024;
/** Limit of the memory of the listed keys of all scans together. */
const keyBytesMax = 64 * 1024 * 1024;
/** A scan is removed this long after it was created. */
const lifetimeMs = 180_000;

/** Limit of the items that one scan has read ahead, in addition to the next one. */
const aheadBytesMax = 256 * 1024;

/** Stores an item that was read ahead. If there is no room it is dropped and read again when it is next. */
export function keepReadAhead(scan: Scan, index: number, item: Buffer | null): void {
  const bytes = item?.length ?? 0;
  if (index !== scan.next && scan.aheadBytes + bytes > aheadBytesMax) return;
  scan.ahead.set(index, item);
  scan.aheadBytes += bytes;
}

export function clearReadAhead(scan: Scan): void {
  scan.ahead.clear();
  scan.aheadBytes = 0;
}

export class Scans {
  private readonly scans = new Map<string, Scan>();
  private keyBytes = 0;

  all(): Iterable<Scan> {
    return this.scans.values();
  }

  /** Removes the scans whose lifetime is over; returns the bytes available for the keys of another scan, 0 if no scan can be created. */
  room(nowMs: number): number {
    // The map has the oldest scan first, and all scans have the same lifetime.
    for (const scan of this.scans.values()) {
      if (scan.endsAtMs > nowMs) break;
      this.remove(scan);
    }
    return this.scans.size >= scansMax ? 0 : Math.max(keyBytesMax - this.keyBytes, 0);
  }

  add(request: Pick<Scan, 'id' | 'vb' | 'collection' | 'keyOnly' | 'withXattrs'>, nowMs: number): Scan {
    const scan: Scan = {
      ...request,
      keys: noKeys,
      keyBytes: 0,
      next: 0,
      progress: null,
      ahead: new Map(),
      aheadBytes: 0,
      endsAtMs: nowMs + lifetimeMs,
    };
    this.scans.set(scan.id.toString('hex'), scan);
    return scan;
  }

  /** Stores the listed keys. False when other scans used the memory meanwhile; the scan is then removed. */
  fill(scan: Scan, keys: ScannedKeys): boolean {
    const { bytes } = keys;
    if (this.keyBytes + bytes > keyBytesMax) {
      this.remove(scan);
      return false;
    }
    scan.keys = keys;
    // A scan that was removed while its keys were listed is not counted.
    if (this.scans.get(scan.id.toString('hex')) !== scan) return true;
    scan.keyBytes = bytes;
    this.keyBytes += bytes;
    return true;
  }

  find(id: string, nowMs: number): Scan | undefined {
    const scan = this.scans.get(id);
    if (scan === undefined || scan.endsAtMs > nowMs) return scan;
    this.remove(scan);
    return undefined;
  }

  remove(scan: Scan): void {
    if (this.scans.delete(scan.id.toString('hex'))) this.keyBytes -= scan.keyBytes;
  }

  clear(): void {
    this.scans.clear();
    this.keyBytes = 0;
  }
}
