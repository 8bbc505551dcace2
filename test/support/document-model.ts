// What documents may hold while statements run whose outcome is unknown: every state that no acknowledged statement has replaced.
import assert from 'node:assert/strict';

export interface DocumentState {
  /** The number of the last statement that wrote the document. */
  readonly n: number;
  /** A remainder of that number. */
  readonly c: number;
  /** The number of the writer. */
  readonly w: number;
  readonly tags: readonly string[];
}

type State = DocumentState | null;

export interface PendingChange {
  /** Called when the change is acknowledged: only the new states are possible then. */
  done(): void;
}

const textOf = (state: State | undefined): string => {
  if (!state) return 'null';
  const { n, c, w, tags } = state;
  return JSON.stringify({ n, c, w, tags });
};

export class DocumentModel {
  readonly #possible = new Map<string, State[]>();
  /** Keys that one transaction writes: all have the new state, or none. */
  #together: { readonly keys: readonly string[]; readonly state: State }[] = [];

  keysOf(prefix: string): string[] {
    return [...this.#possible.keys()].filter((key) => key.startsWith(prefix));
  }

  /** Whether the document may exist. */
  mayExist(key: string): boolean {
    return (this.#possible.get(key) ?? [null]).some((state) => state !== null);
  }

  /** From now on each key may have any of its earlier states, or the next state after one of them. */
  begin(keys: readonly string[], next: (old: State) => State): PendingChange {
    const after = keys.map((key) => [key, this.#statesOf(key).map(next)] as const);
    for (const [key, states] of after) this.#possible.set(key, [...this.#statesOf(key), ...states]);
    return {
      done: () => {
        for (const [key, states] of after) this.#possible.set(key, states);
      },
    };
  }

  /** Begins a change of keys that nothing else writes. */
  beginTogether(keys: readonly string[], state: DocumentState): PendingChange {
    const pending = this.begin(keys, () => state);
    const entry = { keys, state };
    this.#together.push(entry);
    return {
      done: () => {
        pending.done();
        this.#together = this.#together.filter((each) => each !== entry);
      },
    };
  }

  /** @throws AssertionError */
  check(found: ReadonlyMap<string, DocumentState>): void {
    for (const [key, states] of this.#possible) {
      const text = textOf(found.get(key));
      assert.ok(
        states.some((state) => textOf(state) === text),
        `${key} was read as ${JSON.stringify(found.get(key))}; possible are ${states.map(textOf).join(' ')}; ${found.size} documents were found`,
      );
    }
    for (const { keys, state } of this.#together) {
      const isWritten = keys.map((key) => textOf(found.get(key)) === textOf(state));
      assert.equal(new Set(isWritten).size, 1, `one transaction wrote ${keys.join(' and ')} in part`);
    }
  }

  /** Called after the check: only the found states remain possible, except for lost transactions that may be committed later. */
  resolve(found: ReadonlyMap<string, DocumentState>): void {
    this.#together = this.#together.filter(({ keys }) => keys.every((key) => !found.has(key)));
    const open = new Set(this.#together.flatMap(({ keys }) => keys));
    for (const key of this.#possible.keys())
      if (!open.has(key)) this.#possible.set(key, [found.get(key) ?? null]);
  }

  #statesOf(key: string): State[] {
    return this.#possible.get(key) ?? [null];
  }
}
