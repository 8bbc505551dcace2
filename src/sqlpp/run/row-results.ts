// The results of subqueries, calls and parsing that the evaluation of a row has got so far, and those that it needs next.
import { ParsedTexts, ParseNeeded } from '../values/parsed-texts.ts';
import { type CallMemory, CallNeeded, CallResults } from './call-results.ts';
import { NeededResults, SubqueryNeeded, SubqueryResults } from './subquery-results.ts';

/** Thrown by an expression that needs a result: the operator provides the result and evaluates the row again. */
export type RowNeed = SubqueryNeeded | CallNeeded | ParseNeeded;

export const isRowNeed = (error: unknown): error is RowNeed =>
  error instanceof SubqueryNeeded || error instanceof CallNeeded || error instanceof ParseNeeded;

export class RowResults {
  readonly calls: CallResults;
  readonly subqueries: SubqueryResults;
  readonly needed = new NeededResults();
  readonly texts: ParsedTexts;

  /** `texts`: the parsed texts that earlier rows of the statement have used. */
  constructor(memory: CallMemory, texts: ParsedTexts) {
    this.texts = new ParsedTexts(texts);
    this.calls = new CallResults(memory);
    this.subqueries = new SubqueryResults(memory);
  }

  /** Call before the next row; results of subqueries may be the same for it. */
  end(ofStatement: SubqueryResults): void {
    this.calls.clear();
    ofStatement.takeFrom(this.subqueries);
    this.needed.clear();
    this.texts.endRow();
  }
}
