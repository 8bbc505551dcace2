// Checks whether the operations on one register could have happened one after the other, each between its call and its answer
// (linearizability; search by Wing and Gong, with Lowe's memory of states that were seen). Values that only one operation writes, as in the
// histories of our clients, keep the search short: see `nextStates`.

/** An operation without an answer may happen at any time after its call, or never. */
interface Interval {
  /** Times of one clock, or numbers of steps. */
  readonly calledAt: number;
  /** Infinity: no answer. */
  readonly answeredAt: number;
}

/** null: the register does not exist. */
type Value = string | null;

export type Operation = Interval &
  (
    | { readonly kind: 'write'; readonly value: Value }
    | { readonly kind: 'read'; readonly value: Value }
    /** Writes `value` where the register holds `expected`. */
    | { readonly kind: 'replace'; readonly expected: Value; readonly value: Value }
  );

/** Bounds the memory of the search. */
const statesMax = 2_000_000;

/**
 * Whether an order of the operations exists that begins with `initial`. Reads without an answer say nothing and must be left out.
 * @throws Error when the history is empty, or the search too long to decide
 */
export function isLinearizable(history: readonly Operation[], initial: Value = null): boolean {
  const operations = withoutUnseen(history).sort((a, b) => a.calledAt - b.calledAt);
  const answered = operations.filter(({ answeredAt }) => answeredAt !== Infinity).length;
  if (answered === 0) throw new Error('the history has no operation with an answer');
  const search = new Search(operations, initial);
  const seen = new Set<string>();
  const pending: State[] = [{ value: initial, done: 0n, answered: 0, first: 0 }];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (state.answered === answered) return true;
    for (const next of search.nextStates(state)) {
      const name = `${next.done.toString(36)} ${JSON.stringify(next.value)}`;
      if (seen.has(name)) continue;
      if (seen.size === statesMax) throw new Error(`not decided after ${statesMax} states`);
      seen.add(name);
      pending.push(next);
    }
  }
  return false;
}

/** Without the writes of unknown outcome whose values no read returned: each may have never happened, and would double the search. */
function withoutUnseen(history: readonly Operation[]): Operation[] {
  const seen = new Set(
    history.flatMap((operation) =>
      operation.kind === 'read'
        ? [operation.value]
        : operation.kind === 'replace'
          ? [operation.expected]
          : [],
    ),
  );
  return history.filter(({ answeredAt, value }) => answeredAt !== Infinity || seen.has(value));
}

interface State {
  readonly value: Value;
  /** A bit for each operation that has happened. */
  readonly done: bigint;
  /** How many of these operations have an answer. */
  readonly answered: number;
  /** The operations before this index have all happened. */
  readonly first: number;
}

class Search {
  private readonly operations: readonly Operation[];
  /** By value that is written only once: the operations with an answer that need it. */
  private readonly needing = new Map<Value, number[]>();

  constructor(operations: readonly Operation[], initial: Value) {
    this.operations = operations;
    const writers = new Map<Value, number>([[initial, 1]]);
    for (const { kind, value } of operations)
      if (kind !== 'read') writers.set(value, (writers.get(value) ?? 0) + 1);
    for (const [value, count] of writers) if (count === 1) this.needing.set(value, []);
    for (const [at, operation] of operations.entries()) {
      const value = requiredValue(operation);
      if (value !== undefined && operation.answeredAt !== Infinity) this.needing.get(value)?.push(at);
    }
  }

  /**
   * The states after each operation that can happen next: it was called before the first answer of those that have not happened.
   * A read that can happen happens at once, because that hinders no other operation. A value that is written only once is not overwritten
   * before every operation that needs it has happened.
   */
  nextStates(state: State): State[] {
    const open = this.callable(state);
    const read = open.find((at) => this.isReadOf(at, state.value));
    if (read !== undefined) return [this.after(state, read)];
    return open.filter((at) => this.canOverwrite(at, state)).map((at) => this.after(state, at));
  }

  private callable({ done, first }: State): number[] {
    const { operations } = this;
    const open: number[] = [];
    let firstAnswerAt = Infinity;
    for (let at = first; at < operations.length; at++) {
      const { answeredAt, calledAt } = operations[at] as Operation;
      if (calledAt > firstAnswerAt) break;
      if (isDone(done, at)) continue;
      firstAnswerAt = Math.min(firstAnswerAt, answeredAt);
      open.push(at);
    }
    return open.filter((at) => (operations[at] as Operation).calledAt <= firstAnswerAt);
  }

  private isReadOf(at: number, value: Value): boolean {
    const operation = this.operations[at] as Operation;
    return operation.kind === 'read' && operation.value === value;
  }

  private canOverwrite(at: number, { done, value }: State): boolean {
    const operation = this.operations[at] as Operation;
    if (operation.kind === 'read' || (operation.kind === 'replace' && operation.expected !== value))
      return false;
    return this.needing.get(value)?.every((other) => other === at || isDone(done, other)) ?? true;
  }

  private after(state: State, at: number): State {
    const { answeredAt, value } = this.operations[at] as Operation;
    const done = state.done | (1n << BigInt(at));
    let { first } = state;
    while (isDone(done, first)) first++;
    return { value, done, first, answered: state.answered + (answeredAt === Infinity ? 0 : 1) };
  }
}

const isDone = (done: bigint, at: number): boolean => ((done >> BigInt(at)) & 1n) === 1n;

/** The value that the register must have for the operation. */
function requiredValue(operation: Operation): Value | undefined {
  if (operation.kind === 'write') return undefined;
  return operation.kind === 'read' ? operation.value : operation.expected;
}
