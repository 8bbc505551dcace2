// Makes the keys of maps from lists of values: texts that are equal for lists that count as equal.
import { identityOf, isDigest, shownIdentityOf, shownIdentityOfAll } from '../values/identity.ts';
import { resolveDeep } from '../values/json-parse.ts';
import { Binary, RawJson, type Value, type ValueObject } from '../values/value.ts';

/** A text that lists have in common if they collate equal. */
export function valueKey(values: readonly Value[]): string {
  if (values.length === 1) return identityOf(resolveDeep(values[0]));
  return identityOf(values.map((value) => resolveDeep(value)));
}

/**
 * A text that lists have in common if they have the same JSON text in an answer, where MISSING in an array is null: for DISTINCT, GROUP BY and
 * set operations.
 */
export function groupKey(values: readonly Value[]): string {
  if (values.length === 1) return shownIdentityOf(resolveDeep(values[0]));
  return shownIdentityOfAll(values.map((value) => resolveDeep(value)));
}

/**
 * Computes the keys of an operator's rows. Consecutive rows may have the same values, as those of one document do: the key of large values, a digest, is
 * computed once for them, since that takes longer than comparing the row with the last one that had such a key.
 */
export class RowKeys {
  readonly #keyOf: (values: readonly Value[]) => string;
  #large: { readonly values: readonly Value[]; readonly key: string } | null = null;

  constructor(keyOf: (values: readonly Value[]) => string) {
    this.#keyOf = keyOf;
  }

  of(values: readonly Value[]): string {
    if (this.#large !== null && areSame(values, this.#large.values)) return this.#large.key;
    const key = this.#keyOf(values);
    if (isDigest(key)) this.#large = { values, key };
    return key;
  }
}

const areSame = (values: readonly Value[], others: readonly Value[]): boolean =>
  values.length === others.length && values.every((value, at) => isSame(value, others[at]));

/** Whether a value is the same, or an object of the same members. */
function isSame(value: Value, other: Value): boolean {
  if (value === other) return true;
  if (!isObject(value) || !isObject(other)) return false;
  const names = Object.keys(value);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => value[name] !== undefined && value[name] === other[name])
  );
}

const isObject = (value: Value): value is ValueObject =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof RawJson) &&
  !(value instanceof Binary);
