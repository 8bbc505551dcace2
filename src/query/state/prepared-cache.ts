// Prepared statements of this node by query context and name, least recently used ones leave first.
import type { Prepared } from '../../sqlpp/run/engine.ts';

export interface PreparedEntry {
  readonly name: string;
  /** As it was sent with PREPARE. */
  readonly queryContext: string;
  /** The whole PREPARE statement, or the text of an automatic one. */
  readonly text: string;
  readonly encodedPlan: string;
  readonly isAutomatic: boolean;
  prepared: Prepared;
  uses: number;
  /** Milliseconds since 1970; 0: never used. */
  lastUsedMs: number;
  /** Milliseconds of all runs, from the request to the end of the answer. */
  elapsedMs: number;
  serviceMs: number;
  shortestMs: number;
  longestMs: number;
  /** Revision of definitions that the plan was made under. */
  revision: number;
}

export class PreparedCache {
  private readonly entries = new Map<string, PreparedEntry>();

  find(name: string, queryContext: string): PreparedEntry | undefined {
    const key = keyOf(name, queryContext);
    const entry = this.entries.get(key);
    if (entry === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  add(entry: PreparedEntry, limit: number): void {
    const key = keyOf(entry.name, entry.queryContext);
    this.entries.delete(key);
    this.entries.set(key, entry);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= limit) return;
      this.entries.delete(oldest);
    }
  }

  /** Of every query context, as the administration names them. */
  remove(shownName: string): boolean {
    for (const [key, entry] of this.entries)
      if (shownNameOf(entry) === shownName) return this.entries.delete(key);
    return false;
  }

  all(): PreparedEntry[] {
    return [...this.entries.values()];
  }
}

export const shownNameOf = ({ name, queryContext }: PreparedEntry): string =>
  queryContext === '' ? name : `${name}(${queryContext})`;

const keyOf = (name: string, queryContext: string): string => `${queryContext}\0${name}`;
