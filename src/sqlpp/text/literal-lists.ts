// Long lists of literals, as programs write them into statements: one constant in the tree instead of a node for each item.
import type { Expression } from '../tree/expression.ts';
import type { Value } from '../values/value.ts';
import { isSameNumber, readAsJson } from './literal-json.ts';

/** Lists of at least this many plain constants are one constant. For shorter ones, plans have a span for each item, as those of published servers. */
export const foldedFrom = 1025;
/** In an OR of at least `foldedFrom` comparisons, those of one path become a list if they have at least this many constants. */
const pathFoldedFrom = 8;

type Items = Extract<Expression, { kind: 'array' }>['items'];

/** The values of a long list of numbers, strings, booleans and NULL; undefined: it has other items. */
export function foldedItems(items: Items): Value[] | undefined {
  if (items.length < foldedFrom) return undefined;
  const values: Value[] = [];
  for (const item of items) {
    if (item.kind !== 'constant' || item.value === undefined) return undefined;
    if (typeof item.value === 'object' && item.value !== null) return undefined;
    values.push(item.value);
  }
  return values;
}

const quote = 34;
const minus = 45;
/** A shorter text cannot have enough items. */
const textMin = 2 * foldedFrom;

/** Finds long lists in a text without scanning their tokens. Each part of the text is tried at most once. */
export class LiteralLists {
  readonly #text: string;
  #triedUntil = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The list whose bracket opens here, with its end, if its text means the same in JSON. */
  at(start: number): { readonly items: Value[]; readonly end: number } | undefined {
    const text = this.#text;
    if (start < this.#triedUntil || text.length - start < textMin || !this.#mayBegin(start + 1))
      return undefined;
    const close = text.indexOf(']', start);
    this.#triedUntil = close < 0 ? text.length : close;
    if (close - start < textMin || /[A-Za-z0-9_]/.test(text[close + 1] ?? '')) return undefined;
    const items = itemsOf(text.slice(start, close + 1));
    return items && { items, end: close + 1 };
  }

  #mayBegin(at: number): boolean {
    const code = this.#text.charCodeAt(at);
    return code === quote || code === minus || (code >= 48 && code <= 57);
  }
}

function itemsOf(text: string): Value[] | undefined {
  const items = readAsJson(text) as unknown[] | undefined;
  if (items === undefined || items.length < foldedFrom || !items.every(isSameInJson)) return undefined;
  return items as Value[];
}

const isSameInJson = (item: unknown): boolean =>
  typeof item === 'number' ? isSameNumber(item) : typeof item !== 'object' || item === null;

/** `a = 1 OR a = 2 …` with very many constants as `a IN […]`, and `a != 1 AND a != 2 …` as `a NOT IN […]`, which mean the same. */
export function foldedOperands(
  operator: 'and' | 'or',
  operands: readonly Expression[],
): readonly Expression[] {
  if (operands.length < foldedFrom) return operands;
  const wanted = operator === 'or' ? '=' : '!=';
  const tests = operands.map((operand) => testOf(operand, wanted));
  const counts = new Map<string, number>();
  for (const test of tests) if (test) counts.set(test.path, (counts.get(test.path) ?? 0) + 1);
  const lists = new Map<string, Value[]>();
  const folded: Expression[] = [];
  tests.forEach((test, position) => {
    const operand = operands[position] as Expression;
    if (test === undefined || (counts.get(test.path) ?? 0) < pathFoldedFrom) folded.push(operand);
    else if (lists.has(test.path)) lists.get(test.path)?.push(test.value);
    else {
      const { at } = operand;
      const values = [test.value];
      lists.set(test.path, values);
      const list: Expression = { kind: 'constant', value: values, at };
      folded.push({
        kind: 'membership',
        operator: 'in',
        of: test.of,
        list,
        isNegated: operator === 'and',
        at,
      });
    }
  });
  return folded;
}

interface Test {
  readonly path: string;
  readonly of: Expression;
  readonly value: Value;
}

/** The comparison of a path with a constant. */
function testOf(node: Expression, operator: '=' | '!='): Test | undefined {
  if (node.kind !== 'comparison' || node.operator !== operator) return undefined;
  const [constant, of] = node.right.kind === 'constant' ? [node.right, node.left] : [node.left, node.right];
  if (constant.kind !== 'constant' || constant.value === undefined || typeof constant.value === 'object')
    return undefined;
  const path = pathText(of);
  return path === undefined ? undefined : { path, of, value: constant.value };
}

/** Equal for equal paths only. Other expressions may have another value each time. */
function pathText(node: Expression): string | undefined {
  if (node.kind === 'identifier') return JSON.stringify([node.name, node.ignoresCase]);
  if (
    node.kind === 'call' &&
    node.name === 'meta' &&
    node.arguments.every(({ kind }) => kind === 'identifier')
  )
    return `meta(${node.arguments.map(pathText).join()})`;
  if (node.kind !== 'field' || node.name.kind !== 'constant') return undefined;
  const base = pathText(node.of);
  return base && `${base}.${JSON.stringify([node.name.value, node.ignoresCase])}`;
}
