// Compiles fields, elements, slices and `[*]`. In values without fields or elements they are MISSING; a slice of what is not an array is NULL.

import type { WorkSteps } from '#base/steps.ts';
import {
  arrayStar,
  arrayStarInSteps,
  itemsOfValue,
  mayBeLong,
  membersOfValue,
} from '../functions/array-star.ts';
import type { EvaluationContext } from '../functions/context.ts';
import type { ArrayStar, Element, Expression, Field, Slice } from '../tree/expression.ts';
import { compareStrings } from '../values/collation.ts';
import { integerOf } from '../values/integer-value.ts';
import { itemOf, memberOf, nameBytes } from '../values/json-scan.ts';
import { countSteps, listedSteps } from '../values/step-limit.ts';
import { isArray } from '../values/types.ts';
import { Binary, RawJson, type Value, type ValueObject } from '../values/value.ts';
import type { Evaluate, ExpressionCompiler } from './evaluate.ts';
import { inSteps } from './paused-work.ts';

export function compileField(node: Field, compiler: ExpressionCompiler): Evaluate {
  const base = compiler.compile(node.of);
  const { name } = node;
  if (name.kind === 'constant' && typeof name.value === 'string') {
    const text = name.value;
    if (node.ignoresCase) return (row, context) => fieldWithoutCase(base(row, context), text);
    const bytes = nameBytes(text);
    return (row, context) => {
      const value = base(row, context);
      if (value instanceof RawJson) return memberOf(value, bytes);
      return field(value, text);
    };
  }
  const nameOf = compiler.compileParsed(name);
  return (row, context) => {
    const value = base(row, context);
    const text = nameOf(row, context);
    if (typeof text !== 'string') return text === undefined || value === undefined ? undefined : null;
    if (node.ignoresCase) return fieldWithoutCase(value, text);
    return value instanceof RawJson ? memberOf(value, nameBytes(text)) : field(value, text);
  };
}

/** A field of a parsed value. */
function field(value: Value, name: string): Value {
  if (typeof value !== 'object' || value === null || isArray(value) || value instanceof Binary)
    return undefined;
  return (value as ValueObject)[name];
}

/** The member of this name, else the first in name order that differs only in case. */
function fieldWithoutCase(value: Value, name: string): Value {
  const members = membersOfValue(value);
  const exact = members.find(([found]) => found === name);
  if (exact !== undefined) return exact[1];
  const wanted = name.toLowerCase();
  const similar = members.filter(([found]) => found.toLowerCase() === wanted);
  return similar.sort(([a], [b]) => compareStrings(a, b))[0]?.[1];
}

export function compileElement(node: Element, compiler: ExpressionCompiler): Evaluate {
  const base = compiler.compile(node.of);
  const position = compiler.compileParsed(node.index);
  return (row, context) => {
    const value = base(row, context);
    const index = position(row, context);
    const whole = integerOf(index);
    if (whole !== undefined) return itemAt(value, whole);
    return index === undefined || value === undefined ? undefined : null;
  };
}

function itemAt(value: Value, position: number): Value {
  if (value instanceof RawJson) return itemOf(value, position);
  return isArray(value) ? value[position < 0 ? value.length + position : position] : undefined;
}

export function compileSlice(node: Slice, compiler: ExpressionCompiler): Evaluate {
  const base = compiler.compile(node.of);
  const bound = (expression: Expression | undefined): Evaluate | undefined =>
    expression === undefined ? undefined : compiler.compileParsed(expression);
  const startOf = bound(node.start);
  const endOf = bound(node.end);
  return (row, context) => {
    const value = base(row, context);
    const start = startOf === undefined ? 0 : startOf(row, context);
    const end = endOf === undefined ? null : endOf(row, context);
    if (value === undefined || start === undefined || end === undefined) return undefined;
    const items = itemsOfValue(value);
    const from = integerOf(start);
    if (items === undefined || from === undefined) return null;
    const to = endOf === undefined ? items.length : integerOf(end);
    return to === undefined ? null : slice(items, from, to);
  };
}

function slice(items: readonly Value[], start: number, end: number): Value {
  const from = start < 0 ? items.length + start : start;
  const to = end < 0 ? items.length + end : end;
  if (from < 0 || from > to || to > items.length) return undefined;
  return items.slice(from, to);
}

/** `of[*]`: an object whose members are arrays of the items' members. */
export function compileArrayStar(node: ArrayStar, compiler: ExpressionCompiler): Evaluate {
  const base = compiler.compile(node.of);
  return (row, context) => {
    const value = base(row, context);
    if (value === undefined) return undefined;
    return mayBeLong(value) ? inSteps(node, context, () => arrayStarInSteps(value)) : arrayStar(value);
  };
}

/** Whether the value is an array or an object, parsed or not. */
export function isComposite(value: Value): boolean {
  return typeof value === 'object' && value !== null && !(value instanceof Binary);
}

/** All nested values of an array or an object; undefined for other values. `owner`: see `inSteps`. */
export function descendants(
  value: Value,
  owner: object,
  context: EvaluationContext,
): readonly Value[] | undefined {
  if (!isComposite(value)) return undefined;
  if (mayBeLong(value)) return inSteps(owner, context, () => gatherInSteps(value));
  const list: Value[] = [];
  gather(value, list);
  return list;
}

/** A step gathers at least this many values. */
const gatheredAtOnce = 1_024;

function* gatherInSteps(value: Value): WorkSteps<Value[]> {
  const list: Value[] = [];
  let pausedAt = 0;
  const open = [childrenOf(value).values()];
  for (let children = open.at(-1); children !== undefined; children = open.at(-1)) {
    const next = children.next();
    if (next.done === true) open.pop();
    else {
      list.push(next.value);
      if (isComposite(next.value)) open.push(childrenOf(next.value).values());
    }
    if (list.length - pausedAt < gatheredAtOnce) continue;
    pausedAt = list.length;
    yield;
  }
  return list;
}

function gather(value: Value, list: Value[]): void {
  for (const child of childrenOf(value)) {
    list.push(child);
    if (typeof child === 'object' && child !== null) gather(child, list);
  }
}

function childrenOf(value: Value): readonly Value[] {
  const children = itemsOfValue(value) ?? sortedMembers(value).map(([, member]) => member);
  countSteps(listedSteps * children.length);
  return children;
}

export function sortedMembers(value: Value): [name: string, value: Value][] {
  return membersOfValue(value).sort(([a], [b]) => compareStrings(a, b));
}
