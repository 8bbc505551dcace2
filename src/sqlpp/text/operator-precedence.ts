// The precedence of operators.
import type { TokenKind } from './scanner.ts';

/** From low to high. Navigation (`.name`, `[index]`) binds closer than all of them. */
export const Precedence = {
  or: 1,
  and: 2,
  not: 3,
  equality: 4,
  order: 5,
  like: 6,
  /** The ESCAPE of LIKE. */
  escaping: 7,
  between: 8,
  membership: 9,
  exists: 10,
  is: 11,
  concatenation: 12,
  sum: 13,
  product: 14,
  sign: 15,
} as const;

const byOperator: Partial<Record<TokenKind, number>> = {
  or: Precedence.or,
  and: Precedence.and,
  not: Precedence.not,
  '=': Precedence.equality,
  '!=': Precedence.equality,
  '<': Precedence.order,
  '<=': Precedence.order,
  '>': Precedence.order,
  '>=': Precedence.order,
  like: Precedence.like,
  between: Precedence.between,
  in: Precedence.membership,
  within: Precedence.membership,
  is: Precedence.is,
  '||': Precedence.concatenation,
  '+': Precedence.sum,
  '-': Precedence.sum,
  '*': Precedence.product,
  '/': Precedence.product,
  '%': Precedence.product,
};
export const precedenceOf: ReadonlyMap<TokenKind, number> = new Map(
  Object.entries(byOperator) as [TokenKind, number][],
);

/** Whether operators of this precedence may follow each other without brackets. Comparisons may not: `a = b = c` is refused. */
export function isChaining(precedence: number): boolean {
  const { between, concatenation, is, not } = Precedence;
  return precedence >= concatenation || precedence <= not || precedence === is || precedence === between;
}
