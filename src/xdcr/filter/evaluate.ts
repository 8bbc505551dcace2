// Turns a parsed filter expression into a function of documents.
import { calculate, callFunction } from './arithmetic.ts';
import { readTime } from './dates.ts';
import type { ComparisonSign, Condition, Operand, Path } from './tree.ts';
import { compareSides, type FilterValue, noValue, type Side } from './values.ts';

/** What expressions read of a document. */
export interface FilterSubject {
  readonly key: () => string;
  readonly expiration: () => number;
  /** The parsed value of an extended attribute; undefined: the document does not have the attribute. */
  readonly xattr: (name: string) => unknown;
  /** Undefined: the document has no fields. */
  readonly body: () => unknown;
}

/** The document cannot be filtered. */
export class UnfilterableError extends Error {}

export type DocumentTest = (subject: FilterSubject) => boolean;
type Reader = (subject: FilterSubject) => FilterValue;

const holds: Readonly<Record<ComparisonSign, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

export function matcherOf(node: Condition): DocumentTest {
  switch (node.kind) {
    case 'constant':
      return () => node.value;
    case 'all': {
      const parts = node.parts.map(matcherOf);
      return (subject) => parts.every((part) => part(subject));
    }
    case 'any': {
      const parts = node.parts.map(matcherOf);
      return (subject) => parts.some((part) => part(subject));
    }
    case 'not': {
      const part = matcherOf(node.part);
      return (subject) => !part(subject);
    }
    case 'exists':
    case 'isNull': {
      const read = readerOf(node.path);
      return node.kind === 'exists'
        ? (subject) => read(subject) !== undefined
        : (subject) => read(subject) === null;
    }
    case 'regexp':
      return regexpOf(node);
    case 'compare':
      return comparisonOf(node.sign, node.left, node.right);
  }
}

function regexpOf({ text, pattern }: Extract<Condition, { kind: 'regexp' }>): DocumentTest {
  const read = readerOf(text);
  return (subject) => {
    const value = read(subject);
    if (typeof value !== 'string') return false;
    if (value.length > pattern.textMax)
      throw new UnfilterableError('a text is too long for its regular expression');
    return pattern.test(value);
  };
}

function comparisonOf(sign: ComparisonSign, left: Operand, right: Operand): DocumentTest {
  const [one, other] = [sideOf(left), sideOf(right)];
  const holdsFor = holds[sign];
  return (subject) => {
    const order = compareSides(one(subject), other(subject));
    // A comparison with a missing field is false, except for an inequality.
    return order === undefined ? sign === '!=' : holdsFor(order);
  };
}

function sideOf(operand: Operand): (subject: FilterSubject) => Side {
  const read = readerOf(operand);
  const isConstant = !readsDocument(operand);
  return (subject) => ({ value: read(subject), isConstant });
}

function readerOf(operand: Operand): Reader {
  switch (operand.kind) {
    case 'path':
      return pathReader(operand);
    case 'literal':
      return () => operand.value;
    case 'arithmetic': {
      const [left, right] = [readerOf(operand.left), readerOf(operand.right)];
      const hasFractions = isFloat(operand);
      return (subject) => calculate(operand.sign, left(subject), right(subject), hasFractions);
    }
    case 'call': {
      const args = operand.args.map(readerOf);
      if (operand.name === 'DATE') return (subject) => timeOf(args[0]?.(subject));
      return (subject) =>
        callFunction(
          operand.name,
          args.map((arg) => arg(subject)),
        );
    }
  }
}

function pathReader({ root, steps }: Path): Reader {
  if (root === 'id') return ({ key }) => key();
  if (root === 'expiration') return ({ expiration }) => expiration();
  if (root === 'body') return ({ body }) => valueAt(body(), steps);
  const [name, ...rest] = steps;
  return ({ xattr }) => valueAt(xattr(name as string), rest);
}

function valueAt(start: unknown, steps: readonly (string | number)[]): FilterValue {
  let value = start;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) !== (typeof step === 'number') || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value as FilterValue;
}

function timeOf(value: FilterValue): FilterValue {
  if (value === undefined) return undefined;
  return (typeof value === 'string' ? readTime(value) : undefined) ?? noValue;
}

function isFloat(operand: Operand): boolean {
  if (operand.kind === 'literal') return operand.isFloat;
  if (operand.kind === 'arithmetic') return isFloat(operand.left) || isFloat(operand.right);
  return operand.kind === 'call';
}

const readsDocument = (operand: Operand): boolean => operandPaths(operand).length > 0;

function operandPaths(operand: Operand): readonly Path[] {
  if (operand.kind === 'path') return [operand];
  if (operand.kind === 'literal') return [];
  if (operand.kind === 'call') return operand.args.flatMap(operandPaths);
  return [...operandPaths(operand.left), ...operandPaths(operand.right)];
}

/** All that an expression reads. */
export function pathsOf(node: Condition): readonly Path[] {
  switch (node.kind) {
    case 'constant':
      return [];
    case 'all':
    case 'any':
      return node.parts.flatMap(pathsOf);
    case 'not':
      return pathsOf(node.part);
    case 'exists':
    case 'isNull':
      return [node.path];
    case 'regexp':
      return operandPaths(node.text);
    case 'compare':
      return [...operandPaths(node.left), ...operandPaths(node.right)];
  }
}
