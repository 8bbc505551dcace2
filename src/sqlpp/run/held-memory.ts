// Counts memory of a statement against the quota of its request.

/** The part of a run that counts memory. */
export interface StatementMemory {
  /** @throws SqlError 5500 above the quota */
  hold(bytes: number): void;
  release(bytes: number): void;
}

/** Memory that is used until a part of the statement ends, and is then released at once. */
export class HeldMemory {
  readonly #memory: StatementMemory;
  #bytes = 0;

  constructor(memory: StatementMemory) {
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
