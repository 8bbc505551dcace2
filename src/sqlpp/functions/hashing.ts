// HASHBYTES: digests of values, and CRC32 by several polynomials.
import { createHash } from 'node:crypto';
import { jsonText } from '../values/json-text.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { isObject } from '../values/types.ts';
import { Binary, type Value } from '../values/value.ts';
import type { Implementation } from './declaration.ts';
import { md4 } from './md4.ts';

/** Node's names of the digests, by the names in statements. */
const digests: ReadonlyMap<string, string> = new Map([
  ['md5', 'md5'],
  ['sha224', 'sha224'],
  ['sha256', 'sha256'],
  ['sha384', 'sha384'],
  ['sha512', 'sha512'],
  ['sha512/224', 'sha512-224'],
  ['sha512/256', 'sha512-256'],
]);

/** Polynomials of CRC32 with reversed bits. */
const ieee = 0xedb88320;
const polynomials: ReadonlyMap<string, number> = new Map([
  ['ieee', ieee],
  ['castagnoli', 0x82f63b78],
  ['koopman', 0xeb31d82e],
]);

export const hashBytes: Implementation = ([value, options]) => {
  if (value === undefined || value === null) return value;
  const chosen = optionsOf(options);
  if (chosen === undefined) return null;
  const bytes = bytesOf(value);
  if (chosen.algorithm === 'md4' || chosen.algorithm === 'crc32') countSteps(listedSteps * bytes.length);
  if (chosen.algorithm === 'crc32') return crc32(bytes, chosen.polynomial).toString(16).padStart(8, '0');
  if (chosen.algorithm === 'md4') return md4(bytes);
  const digest = digests.get(chosen.algorithm);
  return digest === undefined ? null : createHash(digest).update(bytes).digest('hex');
};

function bytesOf(value: Value): Uint8Array {
  if (value instanceof Binary) return value.bytes;
  return Buffer.from(typeof value === 'string' ? value : jsonText(value));
}

/** Undefined if the value is neither a name nor an object of options. */
function optionsOf(options: Value): { readonly algorithm: string; readonly polynomial: number } | undefined {
  if (options === undefined || options === null) return { algorithm: 'sha256', polynomial: ieee };
  if (typeof options === 'string') return { algorithm: algorithmOf(options), polynomial: ieee };
  if (!isObject(options)) return undefined;
  const { algorithm, polynomial } = options;
  return {
    algorithm: typeof algorithm === 'string' ? algorithmOf(algorithm) : 'sha256',
    polynomial: polynomialOf(polynomial) ?? ieee,
  };
}

function algorithmOf(text: string): string {
  return text.toLowerCase().replace('sha-', 'sha');
}

function polynomialOf(value: Value): number | undefined {
  if (typeof value === 'number') return value >>> 0;
  if (typeof value !== 'string') return undefined;
  const number = polynomials.get(value.toLowerCase()) ?? Number(value);
  return Number.isInteger(number) && number >= 0 && number <= 0xffffffff ? number >>> 0 : undefined;
}

function crc32(bytes: Uint8Array, polynomial: number): number {
  const table = new Uint32Array(256);
  for (let at = 0; at < 256; at++) {
    let entry = at;
    for (let bit = 0; bit < 8; bit++) entry = (entry & 1) === 1 ? (entry >>> 1) ^ polynomial : entry >>> 1;
    table[at] = entry;
  }
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (table[(sum ^ byte) & 0xff] as number) ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
