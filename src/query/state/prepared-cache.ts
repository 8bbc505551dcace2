// Prepared statements of this node by query context and name, with LRU eviction above limits of their number and of their texts.
import type { PreparedStatement } from '#sqlpp/run/engine.ts';
import type { PreparedText, ReplacingStatement } from '../query.contract.ts';

export interface PreparedEntry {
  readonly name: string;
  /** The query context of the PREPARE request; empty: none. */
  readonly queryContext: string;
  /** The whole PREPARE statement, or the text prepared by auto_prepare. */
  readonly text: string;
  readonly encodedPlan: string;
  /** True: prepared by `auto_prepare`. */
  readonly isAutomatic: boolean;
  prepared: PreparedStatement;
  /** Completed runs. */
  uses: number;
  /** Milliseconds since 1970; 0: never used. */
  lastUsedMs: number;
  /** Milliseconds of all runs, from the request to the end of the answer. */
  elapsedMs: number;
  /** `elapsedMs` without the waits for a place of the service. */
  serviceMs: number;
  shortestMs: number;
  longestMs: number;
  shortestServiceMs: number;
  longestServiceMs: number;
  /** The service's `planRevision` when the plan was made. */
  revision: number;
  /** Whether the plan may scan a collection without an index. */
  sequentialScans: boolean;
}

/** Counts a completed run with its elapsed and service times. */
export function countUse(
  entry: PreparedEntry,
  { endedMs, elapsedMs, serviceMs }: { endedMs: number; elapsedMs: number; serviceMs: number },
): void {
  const isFirst = entry.uses === 0;
  entry.uses++;
  entry.lastUsedMs = endedMs;
  entry.elapsedMs += elapsedMs;
  entry.serviceMs += serviceMs;
  entry.shortestMs = isFirst ? elapsedMs : Math.min(entry.shortestMs, elapsedMs);
  entry.longestMs = Math.max(entry.longestMs, elapsedMs);
  entry.shortestServiceMs = isFirst ? serviceMs : Math.min(entry.shortestServiceMs, serviceMs);
  entry.longestServiceMs = Math.max(entry.longestServiceMs, serviceMs);
}

/** The limit of all texts together. A plan takes up to seventy bytes for each character of its text. */
export const preparedCharactersMax = 8 << 20;

export class PreparedCache {
  private readonly entries = new Map<string, PreparedEntry>();
  private characters = 0;
  /** The most recently used entry: to move it to the end of the map again would take V8 longer than finding it. */
  private newest: PreparedEntry | undefined;

  find(name: string, queryContext: string): PreparedEntry | undefined {
    const key = keyOf(name, queryContext);
    const entry = this.entries.get(key);
    if (entry === undefined || entry === this.newest) return entry;
    this.newest = entry;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry;
  }

  /** Answers another node; null: this node has no statement of this name. */
  textOf(name: string, queryContext: string): PreparedText | null {
    const entry = this.entries.get(keyOf(name, queryContext));
    return entry === undefined ? null : { text: entry.text, statement: entry.prepared.text };
  }

  /** Another node has prepared `statement` under this name: removes the statement that has the name here, unless it is the same. */
  discard({ name, queryContext, statement }: ReplacingStatement): void {
    const key = keyOf(name, queryContext);
    if (this.entries.get(key)?.prepared.text !== statement) this.delete(key);
  }

  add(entry: PreparedEntry, limit: number): void {
    const key = keyOf(entry.name, entry.queryContext);
    this.delete(key);
    this.entries.set(key, entry);
    this.newest = entry;
    this.characters += entry.text.length;
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= limit && this.characters <= preparedCharactersMax) return;
      this.delete(oldest);
    }
  }

  /** The statement with the name that the administration shows. */
  named(shownName: string): PreparedEntry | undefined {
    return this.all().find((entry) => shownNameOf(entry) === shownName);
  }

  remove(shownName: string): boolean {
    const entry = this.named(shownName);
    return entry !== undefined && this.delete(keyOf(entry.name, entry.queryContext));
  }

  all(): PreparedEntry[] {
    return [...this.entries.values()];
  }

  private delete(key: string): boolean {
    const entry = this.entries.get(key);
    this.characters -= entry?.text.length ?? 0;
    if (entry === this.newest) this.newest = undefined;
    return this.entries.delete(key);
  }
}

export const shownNameOf = ({ name, queryContext }: PreparedEntry): string =>
  queryContext === '' ? name : `${name}(${queryContext})`;

const keyOf = (name: string, queryContext: string): string => `${queryContext}\0${name}`;
