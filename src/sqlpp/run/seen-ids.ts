// Ids of documents that a statement has had already. Their memory counts as memory of the statement.
import { HeldMemory, type StatementMemory } from './held-memory.ts';

/** The approximate memory of an id in addition to its characters: the string, and its place in a set. */
const idBytes = 50;

export const bytesOfId = (id: string): number => idBytes + id.length;

export class SeenIds {
  readonly #memory: HeldMemory;
  readonly #ids = new Set<string>();
  #uncounted = 0;

  constructor(memory: StatementMemory) {
    this.#memory = new HeldMemory(memory);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  /** Returns false if the id was there. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    this.#uncounted += bytesOfId(id);
    return true;
  }

  /** Call once a batch. @throws SqlError 5500 above the quota */
  count(): void {
    this.#memory.hold(this.#uncounted);
    this.#uncounted = 0;
  }

  discard(): void {
    this.#ids.clear();
    this.#memory.release();
    this.#uncounted = 0;
  }
}
