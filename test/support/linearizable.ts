// Checks whether the operations on one register could have happened one after the other, each between its call and its answer
// (linearizability; search by Wing and Gong, with Lowe's memory of states that were seen).

/** An operation without an answer may happen at any time after its call, or never. */
interface Interval {
  readonly calledMs: number;
  /** Infinity: no answer. */
  readonly answeredMs: number;
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
  const operations = withoutUnseen(history).sort((a, b) => a.calledMs - b.calledMs);
  const answered = operations.filter(({ answeredMs }) => answeredMs !== Infinity).length;
  if (answered === 0) throw new Error('the history has no operation with an answer');
  const seen = new Set<string>();
  const pending: State[] = [{ value: initial, done: 0n, answered: 0, first: 0 }];
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (state.answered === answered) return true;
    for (const next of nextStates(operations, state)) {
      const name = `${next.done.toString(36)} ${JSON.stringify(next.value)}`;
      if (seen.has(name)) continue;
      if (seen.size === statesMax) throw new Error(`not decided after ${statesMax} states`);
      seen.add(name);
      pending.push(next);
    }
  }
  return false;
}

/** Without the writes of unknown outcome whose values nobody saw: each may have never happened, and would double the search. */
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
  return history.filter(({ answeredMs, value }) => answeredMs !== Infinity || seen.has(value));
}

interface State {
  readonly value: Value;
  /** A bit for each operation that has happened. */
  readonly done: bigint;
  /** How many of them have an answer. */
  readonly answered: number;
  /** All operations before this one have happened. */
  readonly first: number;
}

/** The states after each operation that can happen next: it was called before the first answer of those that have not happened. */
function nextStates(operations: readonly Operation[], state: State): State[] {
  const next: State[] = [];
  let firstAnswerMs = Infinity;
  for (let at = state.first; at < operations.length; at++) {
    const operation = operations[at] as Operation;
    if (operation.calledMs > firstAnswerMs) break;
    if ((state.done >> BigInt(at)) & 1n) continue;
    firstAnswerMs = Math.min(firstAnswerMs, operation.answeredMs);
  }
  for (let at = state.first; at < operations.length; at++) {
    const operation = operations[at] as Operation;
    if (operation.calledMs > firstAnswerMs) break;
    if ((state.done >> BigInt(at)) & 1n || !canFollow(operation, state.value)) continue;
    const done = state.done | (1n << BigInt(at));
    let { first } = state;
    while ((done >> BigInt(first)) & 1n) first++;
    const value = operation.kind === 'read' ? state.value : operation.value;
    const isAnswered = operation.answeredMs !== Infinity;
    next.push({ value, done, first, answered: state.answered + (isAnswered ? 1 : 0) });
  }
  return next;
}

function canFollow(operation: Operation, value: Value): boolean {
  if (operation.kind === 'write') return true;
  return (operation.kind === 'read' ? operation.value : operation.expected) === value;
}
