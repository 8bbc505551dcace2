// Whole numbers with more digits than a double has, such as generated ids: as doubles, different ones would be equal. Documents are parsed with
// them only for an expression that can tell the difference, since that takes longer.
import { rawJson } from '#base/exact-json.ts';
import type { Condition, Operand } from './tree.ts';

export class LargeWhole {
  // Private: a path of an expression must find no field in a number.
  readonly #value: bigint;

  constructor(value: bigint) {
    this.#value = value;
  }

  get value(): bigint {
    return this.#value;
  }

  toString(): string {
    return String(this.#value);
  }

  toJSON(): unknown {
    return rawJson(this.toString());
  }
}

/** The number of a text of digits. */
export function wholeOf(digits: string): number | LargeWhole {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : new LargeWhole(BigInt(digits));
}

/** Parses JSON, with a `LargeWhole` for each whole number that a double cannot have exactly. */
export const parseExactly = (text: string): unknown =>
  JSON.parse(text, exactWhole as (key: string, value: unknown) => unknown) as unknown;

const exactWhole = (_key: string, value: unknown, { source = '' }: { source?: string }): unknown =>
  typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
    ? new LargeWhole(BigInt(source))
    : value;

/** Whether a comparison of the expression may depend on the last digits of a large number. */
export function needsExactNumbers(node: Condition): boolean {
  switch (node.kind) {
    case 'all':
    case 'any':
      return node.parts.some(needsExactNumbers);
    case 'not':
      return needsExactNumbers(node.part);
    case 'compare':
      return [node.left, node.right].every(mayBeLarge);
    default:
      return false;
  }
}

/** Whether the value may be a large whole number. Results of calculations are doubles. */
function mayBeLarge(operand: Operand): boolean {
  if (operand.kind === 'path') return true;
  if (operand.kind !== 'literal') return operand.kind === 'arithmetic' && isNegation(operand);
  const { value } = operand;
  if (value instanceof LargeWhole) return true;
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'string' && /^[+-]?\d{16}/.test(value);
}

/** `-field`, which is parsed as `0 - field`. */
const isNegation = ({ sign, left, right }: Extract<Operand, { kind: 'arithmetic' }>): boolean =>
  sign === '-' && left.kind === 'literal' && left.value === 0 && mayBeLarge(right);
