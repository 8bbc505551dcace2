// Memory of a statement that is used until a part of the statement ends, and is then released at once.
import type { CallMemory } from './call-results.ts';

export class HeldMemory {
  readonly #memory: CallMemory;
  #bytes = 0;

  constructor(memory: CallMemory) {
    this.#memory = memory;
  }

  /** @throws SqlError 5500 above the quota */
  hold(bytes: number): void {
    this.#bytes += bytes;
    this.#memory.hold(bytes);
  }

  release(): void {
    this.#memory.release(this.#bytes);
    this.#bytes = 0;
  }
}
