// What one user may do in one bucket: privilege bits per collection, computed once and cached until users or manifest change.
import { type BucketGrant, type Grants, Privilege } from '../admin.ts';
import type { CollectionEntry, Collections, ScopeEntry } from './collections.ts';

export class BucketAccess {
  /** Every privilege that is held anywhere in the bucket; 0 hides the bucket. */
  readonly anywhere: number;
  /** Privileges in the bucket as a whole. */
  readonly bucketWide: number;
  private readonly grants: readonly BucketGrant[];
  private readonly collections: Collections;
  private readonly bits = new Map<number, number>();
  private lastId = -1;
  private lastBits = 0;

  constructor(grants: Grants, bucketName: string, collections: Collections) {
    this.grants = [grants.buckets['*'], grants.buckets[bucketName]].filter((grant) => grant !== undefined);
    this.collections = collections;
    this.bucketWide = this.grants.reduce((bits, grant) => bits | grant.privileges, 0);
    this.anywhere = this.grants.reduce((bits, grant) => bits | unionOf(grant), 0);
  }

  /** Privileges in a collection; 0 when it does not exist or the user may not see it. */
  bitsOf(id: number): number {
    if (id === this.lastId) return this.lastBits;
    let bits = this.bits.get(id);
    if (bits === undefined) {
      const entry = this.collections.get(id);
      bits = entry === undefined ? 0 : ifVisible(this.resolve(entry));
      // Clients choose unknown ids: caching them would let a client fill memory.
      if (entry !== undefined) this.bits.set(id, bits);
    }
    this.lastId = id;
    this.lastBits = bits;
    return bits;
  }

  /** Whether the privileges in the bucket as a whole show every collection, those of the system too. */
  get seesAll(): boolean {
    return ifVisible(systemBits(this.bucketWide)) !== 0;
  }

  /** Privileges in a whole scope, whatever collections are added to it; 0 when the user has none there. */
  ofScope(scope: ScopeEntry): number {
    const id = scope.id.toString(16);
    const bits = this.grants.reduce(
      (sum, grant) => sum | (grant.scopes?.[id]?.privileges ?? 0),
      this.bucketWide,
    );
    return ifVisible(bits);
  }

  private resolve(entry: CollectionEntry): number {
    let bits = 0;
    for (const grant of this.grants) {
      const scope = grant.scopes?.[entry.scope.id.toString(16)];
      bits |= grant.privileges;
      bits |= scope?.privileges ?? 0;
      bits |= scope?.collections?.[entry.id.toString(16)] ?? 0;
    }
    return entry.isSystem ? systemBits(bits) : bits;
  }
}

/**
 * Privileges that make a collection visible. Those left out here (opening a DCP connection is a privilege of the bucket)
 * only add to what the user may do where another privilege already makes something visible.
 */
const visible =
  Privilege.read |
  Privilege.insert |
  Privilege.upsert |
  Privilege.delete |
  Privilege.rangeScan |
  Privilege.metaWrite |
  Privilege.dcpStream |
  Privilege.simpleStats;

const ifVisible = (bits: number): number => ((bits & visible) === 0 ? 0 : bits);

const readers = Privilege.read | Privilege.rangeScan | Privilege.dcpStream;
const writers = Privilege.insert | Privilege.upsert | Privilege.delete | Privilege.metaWrite;

/** In a system collection, reading and writing each require one more privilege. */
function systemBits(bits: number): number {
  let remaining = bits;
  if (!(bits & Privilege.systemCollectionLookup)) remaining &= ~readers;
  if (!(bits & Privilege.systemCollectionMutation)) remaining &= ~writers;
  return remaining;
}

function unionOf(grant: BucketGrant): number {
  let bits = grant.privileges;
  for (const scope of Object.values(grant.scopes ?? {})) {
    bits |= scope.privileges;
    for (const collection of Object.values(scope.collections ?? {})) bits |= collection;
  }
  return bits;
}
