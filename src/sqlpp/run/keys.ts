// Keys of maps: texts that two lists of values share if they are equal.
import { identityOf, shownIdentityOf, shownIdentityOfAll } from '../values/identity.ts';
import { resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';

/** Equal for lists that collate equal. */
export function valueKey(values: readonly Value[]): string {
  if (values.length === 1) return identityOf(resolveDeep(values[0]));
  return identityOf(values.map((value) => resolveDeep(value)));
}

/** Equal for lists that answers show alike: keys for DISTINCT, GROUP BY and set operations. */
export function groupKey(values: readonly Value[]): string {
  if (values.length === 1) return shownIdentityOf(resolveDeep(values[0]));
  return shownIdentityOfAll(values.map((value) => resolveDeep(value)));
}
