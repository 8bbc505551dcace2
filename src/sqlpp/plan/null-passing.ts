// Whether an expression is NULL or MISSING where a part of it is, as all arithmetic and most functions of texts and numbers are.
import type { Expression } from '../tree/expression.ts';

/** Functions that return MISSING if an argument is MISSING, and NULL or MISSING if one is NULL. */
const nullPassing = new Set([
  'lower',
  'upper',
  'length',
  'substr',
  'substr0',
  'substr1',
  'trim',
  'ltrim',
  'rtrim',
  'replace',
  'split',
  'abs',
  'ceil',
  'floor',
  'round',
  'trunc',
  'to_string',
  'to_number',
  'str_to_millis',
  'millis_to_str',
  'date_part_str',
  'date_part_millis',
  'array_length',
  'contains',
  'regexp_contains',
  'regexp_like',
  'position',
  'reverse',
  'title',
  'initcap',
  'sqrt',
  'tostring',
  'tonumber',
]);

/**
 * Whether the expression is MISSING where a part that fulfils `isPart` is MISSING, and NULL or MISSING where the part is NULL. False also where
 * this function does not know.
 */
export function passesNull(node: Expression, isPart: (part: Expression) => boolean): boolean {
  if (isPart(node)) return true;
  switch (node.kind) {
    case 'field':
    case 'element':
    case 'slice':
    case 'negation':
      return passesNull(node.of, isPart);
    case 'arithmetic':
      return passesNull(node.left, isPart) || passesNull(node.right, isPart);
    case 'concatenation':
      return node.operands.some((operand) => passesNull(operand, isPart));
    case 'call':
      return nullPassing.has(node.name) && node.arguments.some((argument) => passesNull(argument, isPart));
    default:
      return false;
  }
}
