// Results of asynchronous functions, by function and arguments. They count as memory of the statement.
import type { Value } from '../values/value.ts';
import { sizeOf } from './size.ts';

/** The part of a run that counts memory. */
export interface CallMemory {
  /** @throws SqlError 5500 above the quota */
  hold(bytes: number): void;
  release(bytes: number): void;
}

export class CallResults {
  readonly #memory: CallMemory;
  readonly #values = new Map<string, Value>();
  #bytes = 0;

  constructor(memory: CallMemory) {
    this.#memory = memory;
  }

  get size(): number {
    return this.#values.size;
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
