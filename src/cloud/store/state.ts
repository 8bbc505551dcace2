// Whether anything in the store has changed: what was found out in a snapshot holds until there is another one.
import type { Store } from './tables.ts';

export interface StoreState {
  /** A text of a time after the call, which is that of an earlier time only if nothing that can be read has changed since. */
  read(): string | Promise<string>;
}

/** A database that was opened; destroying the store closes both. */
export interface OpenStore {
  readonly store: Store;
  readonly state: StoreState;
  /** Of a database that does not find damage of its files by itself. */
  readonly seals?: StoreSeals;
}

/** Checksums over what is stored. */
export interface StoreSeals {
  /** Throws, naming what is damaged. */
  check(): void;
  /** Before tables change. */
  release(): void;
  /** Once they are as they will be. */
  keep(): void;
}

/** The time from one change of the store to the next. */
export class StoreSnapshot {
  private readonly state: string;

  constructor(state: string) {
    this.state = state;
  }

  is(state: string): boolean {
    return state === this.state;
  }
}

export class StoreSnapshots {
  private readonly state: StoreState;
  private newest = new StoreSnapshot('');

  constructor(state: StoreState) {
    this.state = state;
  }

  /** The one that lasts, or begins, after the call. */
  present(): StoreSnapshot | Promise<StoreSnapshot> {
    const state = this.state.read();
    return typeof state === 'string' ? this.at(state) : state.then((later) => this.at(later));
  }

  private at(state: string): StoreSnapshot {
    if (!this.newest.is(state)) this.newest = new StoreSnapshot(state);
    return this.newest;
  }
}
