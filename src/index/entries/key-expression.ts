// Evaluation of the plain expressions of index keys: fields of the document, its metadata, and elements of arrays.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import { formatExpression } from '#sqlpp/text/format.ts';
import type { Comprehension, Expression, Field } from '#sqlpp/tree/query.ts';
import { resolve, resolveDeep } from '#sqlpp/values/json-parse.ts';
import { memberOf, nameBytes } from '#sqlpp/values/json-scan.ts';
import { Binary, newObject, RawJson, setMember, type Value } from '#sqlpp/values/value.ts';
import type { IndexedDocument } from './compiled-definition.ts';

export type KeyCode = (document: IndexedDocument) => Value;
type Variables = ReadonlyMap<string, { value: Value }>;

/** What cannot be evaluated is refused here, when the index is made. */
export function compileKeyExpression(expression: Expression): KeyCode {
  const code = compile(expression, new Map());
  return (document) => resolveDeep(code(document));
}

function compile(node: Expression, variables: Variables): KeyCode {
  switch (node.kind) {
    case 'constant':
      return () => node.value;
    case 'self':
      return bodyOf;
    case 'identifier': {
      const variable = variables.get(node.name);
      return variable === undefined ? memberCode(bodyOf, node.name) : () => variable.value;
    }
    case 'field':
      return fieldCode(node, variables);
    case 'all keys':
      return compile(node.of, variables);
    case 'object':
      return objectCode(node.members, variables);
    case 'comprehension':
      return comprehensionCode(node, variables);
    default:
      throw sqlError(5000, `the expression ${formatExpression(node)} cannot be an index key yet`);
  }
}

function bodyOf({ body, isJson }: IndexedDocument): Value {
  return isJson ? new RawJson(body, 0, body.length) : new Binary(Buffer.from(body));
}

function memberCode(of: KeyCode, name: string): KeyCode {
  const bytes = nameBytes(name);
  return (document) => {
    const value = of(document);
    if (value instanceof RawJson) return memberOf(value, bytes);
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Binary)
      return undefined;
    return (value as Record<string, Value>)[name];
  };
}

function fieldCode({ of, name }: Field, variables: Variables): KeyCode {
  if (name.kind !== 'constant' || typeof name.value !== 'string')
    throw sqlError(5000, 'a dynamic name cannot be part of an index key yet');
  if (of.kind === 'call' && of.name === 'meta') return metaCode(name.value);
  return memberCode(compile(of, variables), name.value);
}

function metaCode(name: string): KeyCode {
  if (name === 'id') return ({ id }) => id;
  if (name === 'expiration') return ({ expiration }) => expiration;
  if (name === 'cas') return ({ cas }) => cas;
  throw sqlError(5000, `META().${name} cannot be part of an index key yet`);
}

function objectCode(
  members: readonly { readonly name: Expression; readonly value: Expression }[],
  variables: Variables,
): KeyCode {
  const codes = members.map(
    ({ name, value }) => [compile(name, variables), compile(value, variables)] as const,
  );
  return (document) => {
    const object = newObject();
    for (const [name, value] of codes) setMember(object, String(name(document)), value(document));
    return object;
  };
}

function comprehensionCode(node: Comprehension, variables: Variables): KeyCode {
  const [binding] = node.bindings;
  const isPlain = node.bindings.length === 1 && !binding?.isDeep && binding?.position === undefined;
  if (binding === undefined || !isPlain || node.result !== 'array' || node.when !== undefined)
    throw sqlError(5000, 'an array key of this form is not possible yet');
  const variable: { value: Value } = { value: undefined };
  const list = compile(binding.of, variables);
  const element = compile(node.value, new Map([...variables, [binding.name, variable]]));
  return (document) => {
    const items = resolve(list(document));
    if (!Array.isArray(items)) return items === undefined ? undefined : null;
    const results: Value[] = [];
    for (const item of items as readonly Value[]) {
      variable.value = item;
      const value = resolve(element(document));
      if (value !== undefined) results.push(value);
    }
    return results;
  };
}
