// Unpredictable bytes, as a port so that tests can replay a seed.
import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  bytes(count: number): Buffer;
  /** A version 4 UUID, 36 characters. */
  uuid(): string;
}

export const realRandom: Random = { bytes: (count) => randomBytes(count), uuid: () => randomUUID() };

/** A number from 0 up to but not including 1. */
export const fraction = (random: Random): number => random.bytes(4).readUInt32LE() / 2 ** 32;

/** A 128-bit id as 32 lower-case hex digits, the form of bucket and cluster uuids. */
export const hexId = (random: Random): string => random.bytes(16).toString('hex');
