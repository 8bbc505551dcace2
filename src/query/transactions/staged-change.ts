// The uncommitted change of a transaction to one document.
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';

export type StagedKind = 'insert' | 'replace' | 'remove';

export interface StagedChange {
  readonly keyspace: Keyspace;
  readonly id: string;
  readonly kind: StagedKind;
  /** JSON text; empty for a removal. */
  readonly bytes: Uint8Array;
  /** The CAS of the stored document that the change replaces; 0n without one. */
  readonly cas: bigint;
  /** The CAS that later statements of the transaction read. */
  readonly ownCas: bigint;
  /** Absolute seconds since 1970, 0: none, 'keep': as the document has it. */
  readonly expiration: number | 'keep';
  /** The change that a client library has staged in this attempt, or null. */
  readonly stagedByClient: StagedKind | null;
  /** True if the change is not staged in the data service yet. */
  readonly isUnstaged: boolean;
}

/** Identifies a collection; unlike its name it differs for a recreated one. */
export const collectionKeyOf = ({ bucketUuid, collectionId }: Keyspace): string =>
  `${bucketUuid}/${collectionId}`;

/** The approximate memory of a change apart from its id and body. */
const changeBytes = 200;

/** The approximate memory of a change, with two bytes for a character of its id. */
export const bytesOf = ({ id, bytes }: StagedChange): number => changeBytes + id.length * 2 + bytes.length;
