// Conflict resolution at the source: whether a version would win against the one that the target has. The target decides again when it
// receives the version; this only saves sending what would lose.
import { readU32 } from '#wire/bytes.ts';
import type { Frame } from '#wire/frame.ts';
import type { ConflictResolution } from '../xdcr.contract.ts';
import type { Outgoing } from './outgoing.ts';

export interface Meta {
  isDeletion: boolean;
  flags: number;
  expiry: number;
  rev: number;
  casHi: number;
  casLo: number;
  hasXattrs: boolean;
}

const xattrBit = 4;

/** The metadata in a reply to GET_META; the byte of the datatype is optional. */
export function targetMeta({ buffer, extrasStart, keyStart, casHi, casLo }: Frame): Meta {
  return {
    isDeletion: readU32(buffer, extrasStart) !== 0,
    flags: readU32(buffer, extrasStart + 4),
    expiry: readU32(buffer, extrasStart + 8),
    rev: readU32(buffer, extrasStart + 12) * 2 ** 32 + readU32(buffer, extrasStart + 16),
    casHi,
    casLo,
    hasXattrs: keyStart - extrasStart > 20 && ((buffer[extrasStart + 20] as number) & xattrBit) !== 0,
  };
}

/** The first difference decides: revision and CAS in the order of the bucket's rule, then expiry, flags and extended attributes. */
export function wins(ours: Outgoing, theirs: Meta, rule: ConflictResolution): boolean {
  const isDeletion = ours.kind !== 'mutation';
  const cas = ours.casHi - theirs.casHi || ours.casLo - theirs.casLo;
  const rev = ours.rev - theirs.rev;
  const versionOrder = rule === 'lww' ? cas || rev : rev || cas;
  if (versionOrder !== 0 || isDeletion) return versionOrder > 0;
  const metadataOrder = ours.expiry - theirs.expiry || ours.flags - theirs.flags;
  if (metadataOrder !== 0) return metadataOrder > 0;
  return (ours.datatype & xattrBit) !== 0 && !theirs.hasXattrs;
}
