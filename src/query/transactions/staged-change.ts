// What a transaction is about to do to one document.
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';

export type StagedKind = 'insert' | 'replace' | 'remove';

export interface StagedChange {
  readonly keyspace: Keyspace;
  readonly id: string;
  readonly kind: StagedKind;
  /** JSON text; empty for a removal. */
  readonly bytes: Uint8Array;
  /** Of the document in the data service that the change replaces; 0n: there is none. */
  readonly cas: bigint;
  /** What the transaction's own statements read as the document's CAS. */
  readonly ownCas: bigint;
  /** Absolute seconds since 1970, 0: none, 'keep': as the document has it. */
  readonly expiration: number | 'keep';
  /** How a client library has staged the document in this attempt; null: not at all. */
  readonly stored: StagedKind | null;
  /** Differs from what is staged in the data service. */
  readonly isNew: boolean;
}

/** Which collection: unlike names this tells it from one made later. */
export const collectionKeyOf = ({ bucketUuid, collectionId }: Keyspace): string =>
  `${bucketUuid}/${collectionId}`;

/** About what a change holds in memory. */
export const bytesOf = ({ id, bytes }: StagedChange): number => 200 + id.length * 2 + bytes.length;
