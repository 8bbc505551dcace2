// Rows in a scratch file, partitioned by a hash of their keys. An operator above its memory share processes one partition at a time.
import type { Value } from '../values/value.ts';
import type { ScratchFile } from './engine.ts';
import type { Run } from './run.ts';
import { rowsIn, SpillWriter } from './spilled-rows.ts';

/** The number of partitions. */
export const partitions = 16;
/** The deepest level of recursive partitioning: there rows stay in memory, up to the request's quota. */
export const deepestLevel = 4;
/** A partition is written when its rows have this size. */
const flushBytes = 32 << 10;

export class PartitionedRows {
  readonly #run: Run;
  readonly #level: number;
  readonly #buffered = Array.from({ length: partitions }, () => new SpillWriter());
  readonly #positions: { offset: number; length: number }[][] = Array.from({ length: partitions }, () => []);
  #file: ScratchFile | undefined;

  constructor(run: Run, level: number) {
    this.#run = run;
    this.#level = level;
  }

  add(key: string, row: readonly Value[]): void {
    (this.#buffered[hashOf(key, this.#level) % partitions] as SpillWriter).add(row);
  }

  /** Writes the rows of partitions that have many in memory. */
  flush(): Promise<void> {
    return this.#write(flushBytes);
  }

  /** The rows of a partition. Call after the last `add`. */
  async *rows(part: number): AsyncGenerator<Value[][]> {
    await this.#write(1);
    for (const position of this.#positions[part] ?? []) {
      yield rowsIn(await (this.#file as ScratchFile).read(position));
      await this.#run.yieldIfDue();
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #write(minimumBytes: number): Promise<void> {
    for (const [part, rows] of this.#buffered.entries()) {
      if (rows.size < minimumBytes) continue;
      this.#file ??= await this.#run.context.scratch();
      const position = await this.#file.append(rows.drain());
      (this.#positions[part] as { offset: number; length: number }[]).push(position);
    }
  }
}

/** FNV-1a with another seed on each level, so that a partition is divided further. */
function hashOf(text: string, level: number): number {
  let hash = 0x811c9dc5 ^ Math.imul(level + 1, 0x9e3779b1);
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}
