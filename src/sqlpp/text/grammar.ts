// The interface of the expression parser for the other parsers.
import type { Expression, NamedParameter, PositionalParameter, RangeBinding } from '../tree/expression.ts';

export interface ExpressionGrammar {
  expression(): Expression;
  /** At least one, with commas between them. */
  expressions(): Expression[];
  /** May begin with ALL or DISTINCT. */
  keyExpression(): Expression;
  parenthesized(): Expression;
  object(): Expression;
  isParameter(): boolean;
  parameter(): NamedParameter | PositionalParameter;
  rangeBindings(): RangeBinding[];
}
