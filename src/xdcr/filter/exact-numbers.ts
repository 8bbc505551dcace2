// Whether a filter expression needs the last digits of large whole numbers.
import { LargeInteger } from './large-integer.ts';
import type { Condition, Operand } from './tree.ts';

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
  if (value instanceof LargeInteger) return true;
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'string' && /^[+-]?\d{16}/.test(value);
}

/** `-field`, which is parsed as `0 - field`. */
const isNegation = ({ sign, left, right }: Extract<Operand, { kind: 'arithmetic' }>): boolean =>
  sign === '-' && left.kind === 'literal' && left.value === 0 && mayBeLarge(right);
