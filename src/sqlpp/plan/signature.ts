// The signature in an answer: the type of each result term, if the expression determines it.
import type { Expression } from '../tree/expression.ts';
import { newObject, type Value } from '../values/value.ts';
import type { LogicalProjection, LogicalSelect } from './logical.ts';

export function signatureOfSelect({ body }: LogicalSelect): Value {
  return body.kind === 'subselect' ? signatureOf(body.projection) : signatureOfSelect(body.left);
}

/** `*` stands for all members of a star. */
export function signatureOf({ isRaw, terms }: LogicalProjection): Value {
  const [first] = terms;
  if (isRaw && first?.kind === 'term') return typeOf(first.expression);
  const signature = newObject();
  for (const term of terms) {
    if (term.kind === 'term') signature[term.alias] = typeOf(term.expression);
    else signature['*'] = '*';
  }
  return signature;
}

/** Functions by the type of their results. */
const numberFunctions = new Set([
  'abs',
  'ceil',
  'floor',
  'round',
  'trunc',
  'sqrt',
  'power',
  'random',
  'sign',
  'exp',
  'ln',
  'log',
  'length',
  'array_length',
  'array_count',
  'array_sum',
  'array_avg',
  'position',
  'clock_millis',
  'now_millis',
  'str_to_millis',
  'date_diff_str',
  'to_number',
  'tonumber',
]);
const stringFunctions = new Set([
  'lower',
  'upper',
  'trim',
  'ltrim',
  'rtrim',
  'substr',
  'replace',
  'reverse',
  'title',
  'repeat',
  'uuid',
  'type',
  'encode_json',
  'base64',
  'millis_to_str',
  'now_str',
  'clock_str',
  'to_string',
  'tostring',
  'concat',
  'initcap',
]);
const booleanFunctions = new Set([
  'contains',
  'regexp_contains',
  'regexp_like',
  'is_array',
  'is_string',
  'is_number',
  'is_boolean',
  'is_object',
  'is_atom',
  'isarray',
  'isstring',
  'isnumber',
  'isboolean',
  'isobject',
  'isatom',
  'array_contains',
  'to_boolean',
  'toboolean',
]);
const aggregateTypes: Readonly<Record<string, string>> = { array_agg: 'array', max: 'json', min: 'json' };

/** The type of the expression's values; `json` if it is not known. */
function typeOf(node: Expression): string {
  switch (node.kind) {
    case 'constant':
      return typeOfValue(node.value);
    case 'arithmetic':
    case 'negation':
      return 'number';
    case 'concatenation':
      return 'string';
    case 'not':
    case 'exists':
    case 'logical':
    case 'comparison':
    case 'between':
    case 'like':
    case 'membership':
    case 'is':
    case 'quantified':
      return 'boolean';
    case 'object':
      return 'object';
    case 'array':
    case 'subquery':
      return 'array';
    case 'comprehension':
      return node.result === 'first' ? 'json' : node.result;
    case 'aggregate':
      return aggregateTypes[node.name] ?? (/_value$|^lag$|^lead$/.test(node.name) ? 'json' : 'number');
    case 'call':
      return typeOfCall(node.name);
    case 'slot':
      return typeOf(node.original);
    default:
      return 'json';
  }
}

function typeOfCall(name: string): string {
  if (numberFunctions.has(name)) return 'number';
  if (stringFunctions.has(name)) return 'string';
  if (booleanFunctions.has(name)) return 'boolean';
  return name === 'meta' ? 'object' : 'json';
}

function typeOfValue(value: Value): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'bigint') return 'number';
  return typeof value;
}
