// A simple model of a bucket's documents: the last version by vbucket and key, and all
// versions in the order of their seqnos, of which a crash preserves a prefix. Where the engine may choose
// (when an expired document becomes a tombstone) it keeps all possibilities.
import { withXattrs } from './a-bucket.ts';

export interface Content {
  /** Values of the xattrs `_sys` and `user`. */
  sys: string | null;
  user: string | null;
  body: string;
}

export interface Doc {
  content: Content;
  flags: number;
  expiry: number;
  deleted: boolean;
  rev: { min: number; max: number };
  seqno: number;
  /** Possible values; the bucket has one of them. */
  cas: readonly string[];
  /** The CAS of the lock, which is valid until `lockedUntilMs`. */
  lockCas: string;
  lockedUntilMs: number;
  /** A tombstone that may be purged, or a document that may have been evicted. */
  mayBeGone: boolean;
}

/** Where a document is stored. */
export interface Place {
  vb: number;
  key: string;
}

export const nothing: Content = { sys: null, user: null, body: '' };
export const hasXattrs = ({ sys, user }: Content): boolean => sys !== null || user !== null;

/** The stored value as latin1 text. */
export function textOf({ sys, user, body }: Content): string {
  if (sys === null && user === null) return body;
  const pairs = { ...(sys !== null && { _sys: sys }), ...(user !== null && { user }) };
  return withXattrs(pairs, body).toString('latin1');
}

/** The content of the document's tombstone. */
export const tombstoneOf = ({ sys }: Content): Content => ({ ...nothing, sys });

export class BucketModel {
  /** By vbucket, then by key. */
  readonly docs: Map<string, Doc>[];
  /** Durable writes that are not on disk yet. */
  readonly pending: Map<string, Doc>[];
  /** The high seqno of each vbucket. */
  readonly high: number[];
  /** The highest CAS, and the highest revision of a deleted document, that each vbucket had. */
  readonly maxCas: bigint[];
  readonly maxDeletedRev: number[];
  private readonly history: { key: string; doc: Doc }[][];

  constructor(vbucketCount: number) {
    const each = <T>(make: () => T): T[] => Array.from({ length: vbucketCount }, make);
    this.docs = each(() => new Map());
    this.pending = each(() => new Map());
    this.history = each(() => []);
    this.high = each(() => 0);
    this.maxCas = each(() => 0n);
    this.maxDeletedRev = each(() => 0);
  }

  get({ vb, key }: Place): Doc | undefined {
    return this.docs[vb]?.get(key);
  }

  isPending({ vb, key }: Place): boolean {
    return this.pending[vb]?.has(key) === true;
  }

  put(place: Place, doc: Doc): void {
    this.docs[place.vb]?.set(place.key, doc);
    this.history[place.vb]?.push({ key: place.key, doc });
    this.noteDeleted(place.vb, doc);
  }

  putPending({ vb, key }: Place, doc: Doc): void {
    this.pending[vb]?.set(key, doc);
    this.history[vb]?.push({ key, doc });
  }

  discard({ vb, key }: Place): void {
    this.docs[vb]?.delete(key);
  }

  /** Makes durable writes up to this seqno visible: they are on disk. */
  commit(vb: number, seqno: number): void {
    for (const [key, doc] of this.pending[vb] as Map<string, Doc>) {
      if (doc.seqno > seqno) continue;
      this.pending[vb]?.delete(key);
      this.docs[vb]?.set(key, doc);
      this.noteDeleted(vb, doc);
    }
  }

  /** A restart loses the changes after `seqno` and all locks. */
  cutBack(vb: number, seqno: number): void {
    const remaining = (this.history[vb] ?? []).filter(({ doc }) => doc.seqno <= seqno);
    remaining.sort((a, b) => a.doc.seqno - b.doc.seqno);
    this.clear(vb);
    for (const { key, doc } of remaining) {
      this.put({ vb, key }, { ...doc, lockedUntilMs: 0 });
    }
    this.high[vb] = seqno;
  }

  /** Resets everything except CAS. */
  clear(vb: number): void {
    this.docs[vb]?.clear();
    this.pending[vb]?.clear();
    this.history[vb]?.splice(0);
    this.high[vb] = this.maxDeletedRev[vb] = 0;
  }

  /** Removes the documents of a dropped collection. */
  dropCollection(id: number): void {
    const isOf = (key: string): boolean => key.startsWith(`${id}:`);
    for (const docs of [...this.docs, ...this.pending]) {
      for (const key of docs.keys()) if (isOf(key)) docs.delete(key);
    }
    this.history.forEach((entries, vb) => {
      this.history[vb] = entries.filter(({ key }) => !isOf(key));
    });
  }

  all(): { place: Place; doc: Doc }[] {
    return this.docs.flatMap((docs, vb) => [...docs].map(([key, doc]) => ({ place: { vb, key }, doc })));
  }

  /** Every version that a crash may restore, including the current ones. */
  versions(): Doc[] {
    return this.history.flatMap((entries) => entries.map(({ doc }) => doc));
  }

  private noteDeleted(vb: number, { deleted, rev }: Doc): void {
    if (deleted) this.maxDeletedRev[vb] = Math.max(this.maxDeletedRev[vb] as number, rev.min);
  }
}
