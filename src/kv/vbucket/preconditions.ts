// Whether a client may make a change, checked in the protocol's order: durable write in progress, existence, lock, CAS.
import { Status } from '#wire/status.ts';
import { type MutationRequest, StoreMode } from '../data/documents.ts';
import { Bit } from '../memory/layout.ts';
import type { Items } from './items.ts';
import type { Now } from './now.ts';

/** For `store`: `address` is the existing item, or 0. */
export function checkStore(request: MutationRequest, items: Items, address: number, now: Now): Status {
  if (isInFlight(items, address)) return Status.syncWriteInProgress;
  const exists = address !== 0 && (request.countsTombstone || items.isLive(address, now.seconds));
  if (request.mode === StoreMode.add) return exists ? Status.keyExists : Status.success;
  const hasCas = (request.casHi | request.casLo) !== 0;
  if (exists) return checkLockAndCas(request, items, address, now);
  // A tombstone may be created where nothing exists: a document that is created as deleted.
  if (request.mode === StoreMode.remove && request.countsTombstone && !hasCas) return Status.success;
  return hasCas || request.mode !== StoreMode.set ? Status.keyNotFound : Status.success;
}

/** For changes of an existing document. */
export function checkExisting(request: MutationRequest, items: Items, address: number, now: Now): Status {
  if (isInFlight(items, address)) return Status.syncWriteInProgress;
  const exists = address !== 0 && (request.countsTombstone || items.isLive(address, now.seconds));
  return exists ? checkLockAndCas(request, items, address, now) : Status.keyNotFound;
}

export function isInFlight(items: Items, address: number): boolean {
  return address !== 0 && (items.state(address) & (Bit.hasPending | Bit.pending)) !== 0;
}

export function checkLockAndCas(request: MutationRequest, items: Items, address: number, now: Now): Status {
  const { casHi, casLo } = request;
  if (items.isLockCas(address, casHi, casLo)) return Status.success;
  if (items.isLocked(address, now)) return Status.locked;
  return (casHi | casLo) === 0 || items.hasCas(address, casHi, casLo) ? Status.success : Status.keyExists;
}
