// Results of asynchronous functions, by function and arguments. They count as memory of the statement.
import type { Value } from '../values/value.ts';
import type { StatementMemory } from './held-memory.ts';
import { sizeOf } from './size.ts';

/** Thrown when an expression needs the result of a function that is asynchronous. */
export class CallNeeded {
  readonly key: string;
  readonly result: () => Promise<Value>;
  /** Whether the result is for one row only; else for the whole statement. */
  readonly isForRow: boolean;

  constructor(key: string, result: () => Promise<Value>, { isForRow }: { readonly isForRow: boolean }) {
    this.key = key;
    this.result = result;
    this.isForRow = isForRow;
  }
}

export class CallResults {
  readonly #memory: StatementMemory;
  readonly #values = new Map<string, Value>();
  #bytes = 0;

  constructor(memory: StatementMemory) {
    this.#memory = memory;
  }

  get size(): number {
    return this.#values.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  get(key: string): Value {
    return this.#values.get(key);
  }

  add(key: string, value: Value): void {
    const bytes = key.length + sizeOf(value);
    this.#bytes += bytes;
    this.#values.set(key, value);
    this.#memory.hold(bytes);
  }

  clear(): void {
    if (this.#bytes === 0) return;
    this.#values.clear();
    this.#memory.release(this.#bytes);
    this.#bytes = 0;
  }
}
