// The extras of writes that bring their own metadata (SET_WITH_META, DEL_WITH_META and their variants).
import { writeU32, writeU64 } from './bytes.ts';

/** Bits of the options. */
export const WithMetaOption = {
  /** Older option with the meaning of `skipsResolution`. */
  force: 0x01,
  /** Required for buckets with last-write-wins conflict resolution, forbidden for others. */
  acceptsLastWrite: 0x02,
  regeneratesCas: 0x04,
  skipsResolution: 0x08,
  isExpiration: 0x10,
} as const;

export interface VersionMeta {
  readonly flags: number;
  /** In seconds since 1970; 0: never. */
  readonly expiry: number;
  readonly rev: number;
  readonly casHi: number;
  readonly casLo: number;
}

export function withMetaExtras({ flags, expiry, rev, casHi, casLo }: VersionMeta, options: number): Buffer {
  // Every byte is written below.
  const extras = Buffer.allocUnsafe(28);
  writeU32(extras, 0, flags);
  writeU32(extras, 4, expiry);
  writeU64(extras, 8, rev);
  writeU32(extras, 16, casHi);
  writeU32(extras, 20, casLo);
  writeU32(extras, 24, options);
  return extras;
}
