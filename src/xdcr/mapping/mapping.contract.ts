// How collections of a source bucket map to collections of the target bucket: types, and the rules that a stored mapping satisfies.
import { createHash } from 'node:crypto';

/**
 * `implicit`: a collection replicates to the one of the same name, and the rules do not apply; `explicit`: only as the rules say;
 * `migration`: documents of the default collection replicate to the collections of all rules whose filter expression they match.
 */
export type MappingMode = 'implicit' | 'explicit' | 'migration';

/** The target of each source (`scope`, `scope.collection`, or a filter expression). Null: the source is not replicated. */
export type MappingRules = Readonly<Record<string, string | null>>;

export interface CollectionMapping {
  readonly mode: MappingMode;
  readonly rules: MappingRules;
}

export const implicitMapping: CollectionMapping = { mode: 'implicit', rules: {} };
export const defaultCollection = '_default._default';
export const systemScope = '_system';

export const mappingLimits = { textBytes: 32_768, rules: 1000, expressions: 50, nameBytes: 251 } as const;

/** Two mappings with the same id replicate the same documents; the id of the implicit mapping is empty. */
export const mappingId = ({ mode, rules }: CollectionMapping): string =>
  mode === 'implicit'
    ? ''
    : createHash('sha256')
        .update(JSON.stringify([mode, rules]))
        .digest('hex')
        .slice(0, 32);

/** A migration of the default collection as a whole: its only rule is one between two collections, without a filter. */
export const isWholeMigration = ({ mode, rules }: CollectionMapping): boolean =>
  mode === 'migration' && Object.keys(rules).length === 1 && Object.hasOwn(rules, defaultCollection);

/** Parses the JSON text of rules; `problem` says why that is not possible. */
export function readRules(text: string): { readonly rules: MappingRules } | { readonly problem: string } {
  if (text.trim() === '') return { rules: {} };
  if (Buffer.byteLength(text) > mappingLimits.textBytes)
    return { problem: `The rules must have at most ${mappingLimits.textBytes} bytes` };
  const parsed = parsedObject(text);
  if (parsed === null) return { problem: 'The rules must be a JSON object, such as {"scope":"scope"}' };
  const keys = Object.keys(parsed);
  for (const key of keys) {
    const value = parsed[key];
    if (value !== null && typeof value !== 'string')
      return { problem: `value for key ${key} is the wrong type: ${typeName(value)}` };
  }
  if (keyCount(text) !== keys.length)
    // The text of published servers, which encode the rules again and compare; here keys are counted.
    return {
      problem: 'JSON string passed in did not pass re-encode test. Are there potentially duplicated keys?',
    };
  return { rules: parsed as MappingRules };
}

function parsedObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text) as unknown;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Counts the keys of a flat JSON object, duplicates too: the strings before a colon. */
function keyCount(text: string): number {
  let count = 0;
  for (const [, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/g)) if (colon !== undefined) count++;
  return count;
}

const typeName = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value);
