// Conflict resolution between two versions of a document, one of which was made on another cluster: clusters that replicate to
// each other end with the same version.
import { Datatype, Status } from '#wire/status.ts';
import type { IncomingVersion, MutationRequest } from '../data/documents.ts';
import { Bit, Word } from '../memory/layout.ts';
import type { Items } from './items.ts';
import type { Now } from './now.ts';
import { checkLockAndCas, isInFlight } from './preconditions.ts';

/** `seqno`: the version with the higher revision wins; `lww`: the one changed last. */
export type ConflictRule = 'seqno' | 'lww';

/** The fields of a version that are compared. */
export interface Version {
  casHi: number;
  casLo: number;
  rev: number;
  expiry: number;
  flags: number;
  hasXattrs: boolean;
}

/** Whether the incoming version replaces the stored one. A deletion has neither expiry nor flags to compare. */
export function incomingWins(
  rule: ConflictRule,
  isDeletion: boolean,
  incoming: Version,
  stored: Version,
): boolean {
  const byCas = incoming.casHi - stored.casHi || incoming.casLo - stored.casLo;
  const byRev = incoming.rev - stored.rev;
  const first = rule === 'lww' ? byCas || byRev : byRev || byCas;
  if (first !== 0) return first > 0;
  const rest = isDeletion ? 0 : incoming.expiry - stored.expiry || incoming.flags - stored.flags;
  return rest !== 0 ? rest > 0 : incoming.hasXattrs && !stored.hasXattrs;
}

/** Whether a version made elsewhere may replace the item at `address`, 0 when there is none. */
export function checkIncoming(
  request: MutationRequest,
  incoming: IncomingVersion,
  items: Items,
  address: number,
  now: Now,
): Status {
  if (isInFlight(items, address)) return Status.syncWriteInProgress;
  const isLive = address !== 0 && items.isLive(address, now.seconds);
  if (incoming.mustBeNew && isLive) return Status.keyExists;
  if (address !== 0 && incoming.rule !== null) {
    const version = versionOf(request, incoming);
    if (!incomingWins(incoming.rule, incoming.isDeletion, version, storedVersion(items, address)))
      return Status.keyExists;
  }
  const hasCas = (request.casHi | request.casLo) !== 0;
  if (!isLive) return hasCas ? Status.keyNotFound : Status.success;
  return checkLockAndCas(request, items, address, now);
}

const versionOf = (request: MutationRequest, { casHi, casLo, rev }: IncomingVersion): Version => ({
  casHi,
  casLo,
  rev,
  expiry: request.expiry,
  flags: request.flags,
  hasXattrs: (request.datatype & Datatype.xattr) !== 0,
});

const storedVersion = (items: Items, address: number): Version => ({
  casHi: items.word(address, Word.casHi),
  casLo: items.word(address, Word.casLo),
  rev: items.rev(address),
  // A tombstone holds the time of its deletion in this field.
  expiry: (items.state(address) & Bit.deleted) === 0 ? items.word(address, Word.expiry) : 0,
  flags: items.word(address, Word.flags),
  hasXattrs: (items.datatype(address) & Datatype.xattr) !== 0,
});
