// The key of an expression: a text that two expressions share only if they have the same value. It ignores positions in the statement, and
// identifies variables of ranges by their binding, not by their names.
import { createHash } from 'node:crypto';
import type { Expression, Field } from '../tree/expression.ts';
import { mapChildren } from './walk.ts';

/** By name: what keys have in place of the variables of ranges. */
type Names = ReadonlyMap<string, string>;

const noNames: Names = new Map();
const keys = new WeakMap<Expression, string>();

export function expressionKey(node: Expression): string {
  // Writing the keys of these takes less time than finding them in the cache.
  if (node.kind === 'field' || node.kind === 'slot' || node.kind === 'constant') return write(node, noNames);
  let key = keys.get(node);
  if (key === undefined) {
    key = write(node, noNames);
    keys.set(node, key);
  }
  return key;
}

/** The kind of the expressions with this key, which is not that of a name, a constant or a parameter. */
export const kindOfKey = (key: string): string =>
  key.startsWith('#') ? 'slot' : key.slice(0, key.indexOf(':'));

export function sameExpression(a: Expression, b: Expression): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind) return false;
  if (a.kind === 'slot') return a.slot === (b as typeof a).slot;
  // Most expressions are fields: their names differ more often than what they belong to.
  if (a.kind === 'field')
    return (
      sameName(a, b as Field) &&
      a.ignoresCase === (b as Field).ignoresCase &&
      sameExpression(a.of, (b as Field).of)
    );
  return expressionKey(a) === expressionKey(b);
}

function sameName({ name: a }: Field, { name: b }: Field): boolean {
  const arePlain = a.kind === 'constant' && b.kind === 'constant' && typeof a.value === 'string';
  return arePlain ? a.value === b.value : sameExpression(a, b);
}

function write(node: Expression, names: Names): string {
  switch (node.kind) {
    case 'constant':
      return valueText(node.value);
    case 'identifier':
      return names.get(node.name) ?? `\`${node.name}\`${node.ignoresCase ? 'i' : ''}`;
    case 'named parameter':
      return `$${node.name}`;
    case 'positional parameter':
      return `$${node.position}`;
    case 'slot':
      return `#${node.slot}`;
    case 'quantified':
    case 'comprehension':
      return writeRange(node, names);
    default:
      return writePlain(node, names);
  }
}

let lastSubqueryNumber = 0;
const subqueryNumbers = new WeakMap<object, number>();

/** The kind, the attributes, then the children. */
function writePlain(node: Expression, names: Names): string {
  const children: string[] = [];
  mapChildren(node, (child) => {
    children.push(write(child, names));
    return child;
  });
  return `${node.kind}:${attributesOf(node)}(${children.join(',')})`;
}

function attributesOf(node: Expression): string {
  switch (node.kind) {
    case 'field':
      return node.ignoresCase ? 'i' : '';
    case 'slice':
      return `${node.start ? 1 : 0}${node.end ? 1 : 0}`;
    case 'arithmetic':
    case 'logical':
    case 'comparison':
      return node.operator;
    case 'between':
    case 'like':
      return String(node.isNegated);
    case 'membership':
      return `${node.operator} ${node.isNegated}`;
    case 'is':
      return `${node.test} ${node.isNegated}`;
    case 'case':
      return `${node.of ? 1 : 0}${node.otherwise ? 1 : 0}`;
    case 'call':
      return node.name;
    case 'user call':
      return JSON.stringify(node.name);
    case 'aggregate':
      return `${node.name} ${node.isDistinct} ${node.nulls} ${node.isFromLast} ${node.filter ? 1 : 0} ${node.over ? windowAttributes(node.over) : ''}`;
    case 'all keys':
      return String(node.isDistinct);
    case 'flatten keys':
      return node.keys.map((key) => `${key.isDescending}`).join(' ');
    case 'subquery':
      return String(subqueryNumber(node.select));
    default:
      return '';
  }
}

/** A subquery equals only itself. */
function subqueryNumber(select: object): number {
  let number = subqueryNumbers.get(select);
  if (number === undefined) subqueryNumbers.set(select, (number = ++lastSubqueryNumber));
  return number;
}

function windowAttributes(over: NonNullable<Extract<Expression, { kind: 'aggregate' }>['over']>): string {
  const { frame } = over;
  return JSON.stringify([
    over.base,
    over.partitionBy.length,
    over.orderBy.map(({ direction, nulls }) => [
      // Parameters, which are no children of the window.
      typeof direction === 'object' ? write(direction, noNames) : direction,
      typeof nulls === 'object' ? write(nulls, noNames) : nulls,
    ]),
    frame && [frame.unit, frame.start.kind, frame.end?.kind, frame.exclude],
  ]);
}

function writeRange(
  node: Extract<Expression, { kind: 'quantified' | 'comprehension' }>,
  names: Names,
): string {
  const inner = new Map(names);
  const ranges = node.bindings.map((binding) => {
    const array = write(binding.of, names);
    return `${binding.isDeep ? 'within' : 'in'} ${array}${binding.position === undefined ? '' : ' at'}`;
  });
  for (const { name, position } of node.bindings) {
    if (position !== undefined) inner.set(position, `@${inner.size}`);
    inner.set(name, `@${inner.size}`);
  }
  const attribute = node.kind === 'quantified' ? node.quantifier : node.result;
  const parts = node.kind === 'quantified' ? [node.satisfies] : [node.name, node.value, node.when];
  const rest = parts.map((part) => (part ? write(part, inner) : ''));
  return `${node.kind}:${attribute}[${ranges.join(',')}](${rest.join(',')})`;
}

const listDigests = new WeakMap<readonly unknown[], string>();

function valueText(value: unknown): string {
  if (value === undefined) return 'missing';
  return Array.isArray(value) ? digestOf(value) : textOf(value);
}

/** The digest of a long list, since the text of an expression is part of the texts of all expressions around it. */
function digestOf(list: readonly unknown[]): string {
  let digest = listDigests.get(list);
  if (digest === undefined) {
    digest = `list ${createHash('sha256').update(textOf(list)).digest('hex')}`;
    listDigests.set(list, digest);
  }
  return digest;
}

function textOf(value: unknown): string {
  if (typeof value !== 'object' && typeof value !== 'bigint') return JSON.stringify(value);
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? { integer: String(member) } : member,
  );
}
