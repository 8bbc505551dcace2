// Compiles definitions whose keys are fields of the document, as those of most indexes are, without the query language: the index thread
// then never loads its modules.
import type { IndexDefinition, IndexKey } from '#sqlpp/datastore/indexes.ts';
import { resolveDeep } from '#sqlpp/values/json-parse.ts';
import { memberOf, nameBytes } from '#sqlpp/values/json-scan.ts';
import { RawJson, type Value } from '#sqlpp/values/value.ts';
import type { CompiledDefinition, IndexedDocument, PlainKey } from './compiled-definition.ts';

/** The canonical text of a path of fields. Names with escapes need the parser of the query language. */
const fieldPath = /^`[^`\\]+`(?:\.`[^`\\]+`)*$/;

export const hasFieldKeysOnly = ({ keys, condition }: IndexDefinition): boolean =>
  condition === undefined && keys.every((key) => key.array === undefined && fieldPath.test(key.expression));

/** For definitions that `hasFieldKeysOnly` accepts. */
export const compileFields = ({ keys }: IndexDefinition): CompiledDefinition => ({
  condition: null,
  keys: keys.map(keyOf),
});

function keyOf({ expression, isDescending, includesMissing }: IndexKey): PlainKey {
  const path = expression.slice(1, -1).split('`.`').map(nameBytes);
  const evaluate = (document: IndexedDocument): Value => valueAt(document, path);
  return { kind: 'plain', isDescending, includesMissing, evaluate };
}

function valueAt({ body, isJson }: IndexedDocument, path: readonly Uint8Array[]): Value {
  if (!isJson) return undefined;
  let value: Value = new RawJson(body, 0, body.length);
  for (const name of path) {
    // Nested objects and arrays are unparsed text until they are needed.
    if (!(value instanceof RawJson)) return undefined;
    value = memberOf(value, name);
  }
  return resolveDeep(value);
}
