// One execution of a statement: time slices, memory, results of subqueries and calls, counts and times for the answer.
import { sqlError } from '../errors/sql-error.ts';
import { allowPauses, begin, noTasks, PauseNeeded, restore, rowTasks } from '../expressions/paused-work.ts';
import type { EvaluationContext } from '../functions/context.ts';
import type { Block } from '../plan/block.ts';
import { functionText, isExternal, isInline, type ResolvedSubquery } from '../plan/resolving.ts';
import type { Subquery, UserCall } from '../tree/expression.ts';
import { resolve, resolveDeep } from '../values/json-parse.ts';
import { parseInSteps } from '../values/json-steps.ts';
import { ParsedTexts, ParseNeeded, setParsedTexts } from '../values/parsed-texts.ts';
import { countSteps } from '../values/step-limit.ts';
import type { Value } from '../values/value.ts';
import { CallNeeded, CallResults } from './call-results.ts';
import type { Code } from './code.ts';
import { type DrawnKind, DrawnValues } from './drawn-values.ts';
import type { ExecuteContext, Outcome, Phase } from './engine.ts';
import { valueKey } from './keys.ts';
import { Meter } from './meter.ts';
import { advisorCall, curlCall, externalCall } from './needed-calls.ts';
import { RequestMemory } from './request-memory.ts';
import { type Batch, batchRows, emptyRow, firstRow, type Row } from './row.ts';
import { rowCountOf } from './row-count.ts';
import { type FailedRow, isRowNeed, type RowNeed, RowResults } from './row-results.ts';
import { RunSlices } from './run-slices.ts';
import { sizeOfRow } from './size.ts';
import { type NeededResults, SubqueryNeeded, SubqueryResults } from './subquery-results.ts';

/** The subqueries and user functions of a statement. */
export interface Programs {
  readonly programs: ReadonlyMap<object, SubqueryProgram>;
  /** The compiled bodies, by their functions. */
  readonly functions: ReadonlyMap<object, Code>;
}

/** Produces an operator's rows, starting with this row. Leaving the loop early ends all its inputs. */
export type Pull = (run: Run, seed: Row) => AsyncIterable<Batch>;

export interface SubqueryProgram {
  readonly block: Block;
  readonly resultSlot: number;
  readonly pull: Pull;
  /** Whether the query calls CURL() or functions in other languages, also in SQL++ functions. */
  readonly callsOut: boolean;
}

/** The most cached results of asynchronous functions. */
const cachedResultsMax = 10_000;
/** The steps that a call counts: nested functions may call each other billions of times for a row. */
const callSteps = 25;
/** The most nested calls of user-defined functions. */
const callDepthMax = 100;

export class Run {
  readonly context: ExecuteContext;
  readonly outcome: Outcome = {
    mutations: 0,
    sorted: 0,
    usedBytes: 0,
    errors: [],
    warnings: [],
    phases: new Map(),
  };
  readonly evaluation: EvaluationContext;
  readonly meter: Meter | undefined;
  readonly slices: RunSlices;
  readonly #programs: Programs;
  /** Results for the whole statement. */
  readonly #callResults = new CallResults(this);
  /** Results for the row that is evaluated: a function in another language may return another result for the next row. */
  #rowResults: CallResults | null = null;
  #texts = new ParsedTexts();
  /** Random values and times that expressions of the current row got; null until the statement needs one. */
  #drawn: DrawnValues | null = null;
  #callDepth = 0;
  readonly #subqueryResults = new SubqueryResults(this);
  /** Results of the subqueries of the row that is evaluated; null until a row waits for one. */
  #rowSubqueries: SubqueryResults | null = null;
  /** Subqueries that loops of the row have found by looking ahead; null until a row waits. */
  #needed: NeededResults | null = null;
  readonly #memory: RequestMemory;

  constructor(context: ExecuteContext, programs: Programs, evaluation: (run: Run) => EvaluationContext) {
    this.meter = context.isProfiled ? new Meter(() => context.monotonicMs()) : undefined;
    this.context = this.meter ? { ...context, datastore: this.meter.datastore(context.datastore) } : context;
    this.#programs = programs;
    this.slices = new RunSlices(this.context, this.meter);
    this.#memory = new RequestMemory(this.context, this.outcome);
    this.evaluation = evaluation(this);
  }

  /** Adds a warning to the answer, once: a scan in a subquery may run for each row. */
  warn(warning: Error): void {
    const { warnings } = this.outcome;
    if (warnings.every(({ message }) => message !== warning.message)) warnings.push(warning);
  }

  /** Call once per batch: yields when the time slice is over, and throws when the request is aborted. */
  yieldIfDue(): Promise<void> | undefined {
    return this.slices.yieldIfDue();
  }

  /** @throws SqlError 5500 above the quota */
  hold(bytes: number): void {
    this.#memory.hold(bytes);
  }

  release(bytes: number): void {
    this.#memory.release(bytes);
  }

  /** Like `release`, for memory that an operator discards all at once. */
  releaseDiscarded(bytes: number): void {
    this.#memory.releaseDiscarded(bytes);
  }

  phase(name: string): Phase {
    let phase = this.outcome.phases.get(name);
    if (!phase) {
      phase = { operators: 0, items: 0, ms: 0 };
      this.outcome.phases.set(name, phase);
    }
    return phase;
  }

  /** For expressions: a random value or the time, the same one when the row is evaluated again. */
  drawn<T extends number | string>(kind: DrawnKind, draw: () => T): T {
    return (this.#drawn ??= new DrawnValues()).next(kind, draw);
  }

  /** For expressions: returns the rows of a subquery, or throws `SubqueryNeeded`. */
  subquery(node: Subquery, values: readonly Value[]): Value {
    const resolved = node as ResolvedSubquery;
    const key = values.length === 0 ? '' : valueKey(values);
    const ofRow = this.#rowSubqueries?.of(resolved.logical);
    if (ofRow?.has(key)) return ofRow.get(key);
    const cached = this.#subqueryResults.of(resolved.logical);
    if (cached?.has(key)) return cached.get(key);
    throw new SubqueryNeeded(resolved, values, key);
  }

  /** For loops in expressions: see `EvaluationContext`. */
  continuesAfter(error: unknown): boolean {
    // Not for calls of other servers and languages: these would get calls that the row may not need.
    if (!(error instanceof SubqueryNeeded) || this.#programs.programs.get(error.node.logical)?.callsOut)
      return false;
    return this.#needed?.add(error) ?? false;
  }

  /** For expressions: whether long work should pause. Not once this evaluation has got random values or times: work that continues after a pause does not get its values again, so later expressions would get them instead of their own. */
  isPauseDue(): boolean {
    return this.slices.isPauseDue && !this.hasDrawn();
  }

  /** For expressions: whether this evaluation of the row has got random values or times. */
  hasDrawn(): boolean {
    return this.#drawn?.isUsed === true;
  }

  /** For expressions: calls a user-defined function. */
  userCall(call: UserCall, values: readonly Value[]): Value {
    if (isExternal(call)) return this.#resultOf(externalCall(call.external, values, this.context));
    const inline = isInline(call) ? call.inline : undefined;
    const code = inline && this.#programs.functions.get(inline);
    if (!code) throw sqlError(10101, functionText(call.name));
    countSteps(callSteps);
    if (++this.#callDepth > callDepthMax)
      throw sqlError(10109, functionText(call.name), 'calls are nested too deeply');
    try {
      const row = emptyRow(inline.block.size);
      inline.parameters.forEach((slot, at) => {
        row[slot] = values[at];
      });
      if (inline.variadicSlot !== undefined) row[inline.variadicSlot] = values;
      return code.run(row, this.evaluation);
    } finally {
      this.#callDepth--;
    }
  }

  /** Calls a function of the service. */
  serviceCall(name: string, values: readonly Value[]): Value {
    const { advisor, curl, serviceCall } = this.context;
    if (name === 'curl' && curl) return this.#resultOf(curlCall(values, curl, this));
    if (name === 'advisor' && advisor) return this.#resultOf(advisorCall(values, advisor));
    return serviceCall?.(name, values) ?? null;
  }

  /** The result of an asynchronous function, with which the expression is evaluated again. */
  #resultOf(call: CallNeeded): Value {
    const results = call.isForRow ? this.#rowResults : this.#callResults;
    if (results?.has(call.key)) return results.get(call.key);
    throw call;
  }

  /** Computes the results that a row needs, and caches them. */
  async #provide(error: RowNeed, row: RowResults): Promise<void> {
    if (error instanceof ParseNeeded) {
      row.texts.add(error.raw, await this.slices.resultOf(parseInSteps(error.raw)));
      return;
    }
    if (error instanceof PauseNeeded) return;
    if (error instanceof SubqueryNeeded) {
      await this.#runSubquery(error, row.subqueries);
      return this.#runAhead(row.needed.drain(error), row.subqueries);
    }
    const { key, isForRow } = error;
    if (this.#callResults.size >= cachedResultsMax) this.#callResults.clear();
    (isForRow ? row.calls : this.#callResults).add(key, await error.result());
  }

  async #runSubquery({ node, values, key }: SubqueryNeeded, into: SubqueryResults): Promise<void> {
    into.add(node.logical, key, await this.rowsOf(node.logical, values));
  }

  /** Runs subqueries that the row may not need: their errors count only if it does. */
  async #runAhead(needed: readonly SubqueryNeeded[], into: SubqueryResults): Promise<void> {
    for (const each of needed) {
      if (into.of(each.node.logical)?.has(each.key)) continue;
      await this.yieldIfDue();
      const bytes = this.#memory.heldBytes - this.#cachedBytes;
      try {
        await this.#runSubquery(each, into);
      } catch {
        // The memory of the failed operator no longer counts: the operator does not release it, since a failure normally ends the statement.
        this.#memory.heldBytes = bytes + this.#cachedBytes;
        this.context.signal.throwIfAborted();
        return;
      }
    }
  }

  /** Bytes of results for later rows, which stay when a subquery fails. */
  get #cachedBytes(): number {
    return this.#subqueryResults.bytes + this.#callResults.bytes;
  }

  /** The results of a subquery with these captured values. */
  async rowsOf(logical: object, values: readonly Value[]): Promise<Value[]> {
    const program = this.#programs.programs.get(logical);
    if (!program) throw new Error('a subquery has no plan');
    const seed = firstRow(program.block, values);
    const rows: Value[] = [];
    let heldBytes = 0;
    try {
      for await (const batch of program.pull(this, seed)) {
        // As published: a RAW result that is MISSING is NULL in the list.
        for (const row of batch) rows.push(row[program.resultSlot] ?? null);
        // Small results are counted only when they are added to the other results.
        const bytes = rows.length > batchRows ? sizeOfRow(rows.slice(-batch.length)) : 0;
        this.hold(bytes);
        heldBytes += bytes;
        await this.yieldIfDue();
      }
      return rows;
    } finally {
      this.release(heldBytes);
    }
  }

  /**
   * Calls `work` for each row. `work` may throw a `RowNeed`, but only before it has changed anything: it is called again once
   * the result is there. Yields between rows that take long, as those of large documents do.
   */
  each<T>(items: readonly T[], work: (item: T, at: number) => void): Promise<void> | undefined {
    return this.#each(0, items, work);
  }

  #each<T>(
    from: number,
    items: readonly T[],
    work: (item: T, at: number) => void,
  ): Promise<void> | undefined {
    // Synchronous until a row needs a subquery, or the time slice is over: most rows take less than a microsecond.
    let at = from;
    // The clock is read after 1, 3, 7, 15, … rows, and then after each batch: hardly ever where rows are short, and in time where they are long.
    let timedAt = from + 1;
    this.#rowResults = null;
    this.#rowSubqueries = null;
    this.#needed = null;
    this.#drawn?.clear();
    const textsBefore = setParsedTexts(this.#texts);
    const before = allowPauses();
    let failed: FailedRow;
    try {
      for (; at < items.length; at++) {
        if (at === timedAt) {
          timedAt += Math.min(at - from + 1, batchRows);
          const pause = this.yieldIfDue();
          if (pause !== undefined) return pause.then(() => this.#each(at, items, work));
        }
        begin(noTasks);
        work(items[at] as T, at);
        if (this.#drawn !== null) this.#drawn.clear();
      }
      return undefined;
    } catch (error) {
      failed = { thrown: error, paused: rowTasks() };
    } finally {
      restore(before);
      setParsedTexts(textsBefore);
    }
    // Called after `restore`: a subquery starts at once and evaluates some expressions, such as those of pushed-down limits, where it cannot wait for a pause.
    return this.#eachFrom(at, items, work, failed);
  }

  async #eachFrom<T>(
    from: number,
    items: readonly T[],
    work: (item: T, at: number) => void,
    { thrown, paused }: FailedRow,
  ): Promise<void> {
    let at = from;
    let error: unknown = thrown;
    const row = new RowResults(this, this.#texts);
    row.paused = paused;
    try {
      while (at < items.length) {
        const drawn = this.#drawn;
        this.#drawn = null;
        if (error !== null) {
          if (!isRowNeed(error)) throw error;
          if (error instanceof CallNeeded) row.countCall();
          await this.#provide(error, row);
          error = null;
        }
        await this.yieldIfDue();
        // Set again after each wait: meanwhile other rows may have been evaluated.
        this.#rowResults = row.calls;
        this.#rowSubqueries = row.subqueries;
        this.#needed = row.needed;
        this.#drawn = drawn;
        drawn?.rewind();
        const textsBefore = setParsedTexts(row.texts);
        const before = allowPauses();
        this.slices.evaluatesAgain();
        try {
          do {
            row.begin();
            work(items[at] as T, at);
            at++;
            row.end(this.#subqueryResults);
            this.slices.rowEnded();
            this.#drawn?.clear();
          } while (at < items.length && !this.slices.isDue);
        } catch (next) {
          error = next;
          row.paused = rowTasks();
        } finally {
          restore(before);
          setParsedTexts(textsBefore);
        }
      }
    } finally {
      this.#texts = new ParsedTexts(row.texts);
      row.end(this.#subqueryResults);
    }
  }

  /** Parses a value of a document that is still JSON text. */
  resolve(value: Value): Value {
    return resolve(value);
  }

  /** Like `resolve`, including nested values. */
  resolveDeep(value: Value): Value {
    return resolveDeep(value);
  }

  /** LIMIT or OFFSET: a whole number; negative ones count as zero. */
  count(code: Code, row: Row, clause: 'LIMIT' | 'OFFSET'): number | Promise<number> {
    const value = this.value(() => resolve(code.run(row, this.evaluation)));
    return value instanceof Promise
      ? value.then((known) => rowCountOf(known, clause))
      : rowCountOf(value, clause);
  }

  /** Evaluates an expression; a promise if it needs subqueries. */
  value<T = Value>(evaluate: () => T): T | Promise<T> {
    let result: T | undefined;
    const waiting = this.each(once, () => {
      result = evaluate();
    });
    return waiting === undefined ? (result as T) : waiting.then(() => result as T);
  }
}

const once = [null];
