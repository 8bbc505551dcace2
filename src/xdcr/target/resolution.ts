// Conflict resolution at the source: whether a version would win against the one that the target has. The target decides again when it
// receives the version; this only saves sending what would lose.
import { readU32 } from '#wire/bytes.ts';
import type { Frame } from '#wire/frame.ts';
import { Datatype } from '#wire/status.ts';
import type { ConflictResolution } from '../xdcr.contract.ts';
import type { OutgoingVersion } from './outgoing.ts';

export interface Meta {
  isDeletion: boolean;
  flags: number;
  expiry: number;
  rev: number;
  casHi: number;
  casLo: number;
  hasXattrs: boolean;
}

/** The metadata in a reply to GET_META; the byte of the datatype is optional. */
export function targetMeta({ buffer, extrasStart, keyStart, casHi, casLo }: Frame): Meta {
  return {
    isDeletion: readU32(buffer, extrasStart) !== 0,
    flags: readU32(buffer, extrasStart + 4),
    expiry: readU32(buffer, extrasStart + 8),
    rev: readU32(buffer, extrasStart + 12) * 2 ** 32 + readU32(buffer, extrasStart + 16),
    casHi,
    casLo,
    hasXattrs: keyStart - extrasStart > 20 && ((buffer[extrasStart + 20] as number) & Datatype.xattr) !== 0,
  };
}

/** The first difference decides: revision and CAS in the order of the bucket's rule, then expiry, flags and extended attributes. */
export function wins(outgoing: OutgoingVersion, target: Meta, rule: ConflictResolution): boolean {
  const isDeletion = outgoing.kind !== 'mutation';
  const cas = outgoing.casHi - target.casHi || outgoing.casLo - target.casLo;
  const rev = outgoing.rev - target.rev;
  const versionOrder = rule === 'lww' ? cas || rev : rev || cas;
  if (versionOrder !== 0 || isDeletion) return versionOrder > 0;
  const metadataOrder = outgoing.expiry - target.expiry || outgoing.flags - target.flags;
  if (metadataOrder !== 0) return metadataOrder > 0;
  return (outgoing.datatype & Datatype.xattr) !== 0 && !target.hasXattrs;
}
