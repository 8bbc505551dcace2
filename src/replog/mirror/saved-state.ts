// What a mirror stores on disk, a second after a change, so that many changes cost one write: the newest head seen, and a copy of all records.
// A record that only got a newer revision, as the orchestrator's does each second, waits longer, so that the disks of an idle cluster rest.
// A failed save is repeated.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { StoreContent, StoredRecord, StoreHead } from './config-link.ts';

/** The newest head of the store (its id, revision and term) that this node saw, over restarts. */
export interface SeenHead {
  load(): StoreHead | null;
  save(head: StoreHead): void;
}

/** The whole store as this node last saw it, on its disk. */
export interface StoreCopy {
  /** Writes changed records, durably. */
  save(changed: StoreContent): void;
  close(): void;
}

export interface SavedStateDeps {
  seen: SeenHead;
  copy: StoreCopy | null;
  /** Null: nothing was seen yet. */
  head: () => StoreHead | null;
  record: (key: string) => StoredRecord | undefined;
  clock: Clock;
  log: Log;
}

const saveDelayMs = 1_000;
/** A node that ends before that does not know of these revisions, whose records have the same values as before. */
export const sameValueSaveMs = 30_000;
/** Interval between two attempts of a save that fails. */
export const retryPauseMs = 10_000;

export class SavedState {
  readonly #deps: SavedStateDeps;
  /** Keys whose records are not in the copy yet. */
  readonly #unsaved = new Set<string>();
  /** Not null: something is unsaved. */
  #timer: Timer | null = null;
  /** When the timer saves. */
  #dueMs = 0;
  /** The last save failed, and that was logged. */
  #isFailing = false;
  #isClosed = false;

  constructor(deps: SavedStateDeps) {
    this.#deps = deps;
  }

  /** `before`: the record that it replaces. */
  changed({ key, json }: StoredRecord, before: StoredRecord | undefined): void {
    if (this.#deps.copy !== null) this.#unsaved.add(key);
    this.#saveAfter(json === before?.json ? sameValueSaveMs : saveDelayMs);
  }

  saveSoon(): void {
    this.#saveAfter(saveDelayMs);
  }

  /** Saves the copy before the head: a copy that is older than the head is never used. */
  saveNow(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#isClosed) return;
    const head = this.#deps.head();
    if (head === null) return;
    try {
      this.#saveCopy(head);
      this.#deps.seen.save(head);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#notSaved(error as Error);
      this.#isFailing = true;
      this.#saveAfter(retryPauseMs);
    }
  }

  /** Saves the unsaved changes, and none that come later. */
  close(): void {
    if (this.#timer !== null) this.saveNow();
    this.#isClosed = true;
    this.#timer?.cancel();
    try {
      this.#deps.copy?.close();
    } catch (error) {
      this.#notSaved(error as Error);
    }
  }

  #saveAfter(ms: number): void {
    if (this.#isClosed) return;
    const { clock } = this.#deps;
    const waitMs = this.#isFailing ? retryPauseMs : ms;
    const dueMs = clock.monotonicMs() + waitMs;
    if (this.#timer !== null && this.#dueMs <= dueMs) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = clock.after(waitMs, () => this.saveNow());
  }

  #notSaved({ message: reason }: Error): void {
    this.#deps.log.warn('configuration.mirror_not_saved', { reason });
  }

  #saveCopy({ revision }: StoreHead): void {
    const { copy, record } = this.#deps;
    if (copy === null) return;
    const keys = [...this.#unsaved];
    const deleted = (key: string): StoredRecord => ({ key, json: null, revision, writes: null });
    copy.save({ revision, records: keys.map((key) => record(key) ?? deleted(key)) });
    for (const key of keys) this.#unsaved.delete(key);
  }
}
