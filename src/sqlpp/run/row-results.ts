// What a row has got while it waited, and what it needs next.
import { ParsedTexts, ParseNeeded } from '../values/parsed-texts.ts';
import { type CallMemory, CallNeeded, CallResults } from './call-results.ts';
import { NeededResults, SubqueryNeeded, SubqueryResults } from './subquery-results.ts';

/** What an expression throws for the operator to provide. */
export type RowNeed = SubqueryNeeded | CallNeeded | ParseNeeded;

export const isRowNeed = (error: unknown): error is RowNeed =>
  error instanceof SubqueryNeeded || error instanceof CallNeeded || error instanceof ParseNeeded;

export class RowResults {
  readonly calls: CallResults;
  readonly subqueries: SubqueryResults;
  readonly needed = new NeededResults();
  readonly texts: ParsedTexts;

  /** `texts`: what earlier rows of the statement have used. */
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
