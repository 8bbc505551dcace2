// Texts that two lists of values share exactly if they collate equal: keys of maps.
import { identityOf } from '../values/identity.ts';
import { resolveDeep } from '../values/json-parse.ts';
import type { Value } from '../values/value.ts';

export function valueKey(values: readonly Value[]): string {
  if (values.length === 1) return identityOf(resolveDeep(values[0]));
  return identityOf(values.map((value) => resolveDeep(value)));
}
