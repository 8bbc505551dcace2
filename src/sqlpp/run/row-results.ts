// The results of subqueries, calls and parsing that the evaluation of a row has got so far, and those that it needs next.
import { sqlError } from '../errors/sql-error.ts';
import { begin, noTasks, type PausedTasks, PauseNeeded } from '../expressions/paused-work.ts';
import { ParsedTexts, ParseNeeded } from '../values/parsed-texts.ts';
import { renewSteps } from '../values/step-limit.ts';
import { CallNeeded, CallResults } from './call-results.ts';
import type { StatementMemory } from './held-memory.ts';
import { NeededResults, SubqueryNeeded, SubqueryResults } from './subquery-results.ts';

/** Thrown by an expression that needs a result, or a pause: the operator provides it and evaluates the row again. */
export type RowNeed = SubqueryNeeded | CallNeeded | ParseNeeded | PauseNeeded;

export const isRowNeed = (error: unknown): error is RowNeed =>
  error instanceof SubqueryNeeded ||
  error instanceof CallNeeded ||
  error instanceof ParseNeeded ||
  error instanceof PauseNeeded;

/** The most asynchronous calls of one row: each one evaluates the row again. */
const rowCallsMax = 10_000;

/** What the evaluation of a row threw, and what it had done. */
export interface FailedRow {
  readonly thrown: unknown;
  readonly paused: PausedTasks;
}

export class RowResults {
  readonly calls: CallResults;
  readonly subqueries: SubqueryResults;
  readonly needed = new NeededResults();
  readonly texts: ParsedTexts;
  /** What long expressions of the row have done before they paused. */
  paused: PausedTasks = noTasks;
  #calls = 0;

  /** `texts`: the parsed texts that earlier rows of the statement have used. */
  constructor(memory: StatementMemory, texts: ParsedTexts) {
    this.texts = new ParsedTexts(texts);
    this.calls = new CallResults(memory);
    this.subqueries = new SubqueryResults(memory);
  }

  /** Counts an asynchronous call: each one evaluates the row again. @throws SqlError 5010 */
  countCall(): void {
    if (++this.#calls > rowCallsMax)
      throw sqlError(
        5010,
        `expression: one row makes more than ${rowCallsMax} calls of CURL() and of functions in other languages`,
      );
  }

  /** Call before each evaluation. */
  begin(): void {
    // What has been done before the pauses counts its steps again.
    if (this.paused !== noTasks) renewSteps();
    begin(this.paused);
  }

  /** Call before the next row; results of subqueries may be the same for it. */
  end(ofStatement: SubqueryResults): void {
    this.calls.clear();
    ofStatement.takeFrom(this.subqueries);
    this.needed.clear();
    this.texts.endRow();
    if (this.paused !== noTasks) renewSteps();
    this.paused = noTasks;
    this.#calls = 0;
  }
}
