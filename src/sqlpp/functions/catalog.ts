// All functions, by name.
import { arraySets } from './array-sets.ts';
import { arrays } from './arrays.ts';
import { bits } from './bits.ts';
import { comparisons, operators } from './comparisons.ts';
import { conditional } from './conditional.ts';
import { dates } from './dates/dates.ts';
import type { FunctionDeclaration } from './declaration.ts';
import { json } from './json.ts';
import { numbers } from './numbers.ts';
import { objects } from './objects.ts';
import { patterns } from './pattern-functions.ts';
import { specials } from './special.ts';
import { strings } from './strings.ts';
import { tokenFunctions } from './tokens.ts';
import { types } from './types.ts';

export const declarations: readonly FunctionDeclaration[] = [
  arrays,
  arraySets,
  bits,
  comparisons,
  conditional,
  dates,
  json,
  numbers,
  objects,
  operators,
  patterns,
  specials,
  strings,
  tokenFunctions,
  types,
].flatMap(({ list }) => list);

const byName: ReadonlyMap<string, FunctionDeclaration> = new Map(
  declarations.flatMap((declaration) =>
    [declaration.name, ...declaration.synonyms].map((name): [string, FunctionDeclaration] => [
      name,
      declaration,
    ]),
  ),
);

/** By a name in lower case, or a synonym. */
export function functionNamed(name: string): FunctionDeclaration | undefined {
  return byName.get(name);
}
