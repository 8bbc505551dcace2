// Detects changes of the store: a value computed from one version is valid until the next version.
import type { Store } from './tables.ts';

export interface StoreState {
  /** Resolves with the state at some time after the call. Two states are equal only if no visible data changed in between. */
  read(): string | Promise<string>;
}

/** An open database; destroying the store closes both. */
export interface OpenStore {
  readonly store: Store;
  readonly state: StoreState;
  /** Present for a database that does not detect damage of its files. */
  readonly checksums?: StoreChecksums;
}

/** Verifies and maintains the checksums of the tables. */
export interface StoreChecksums {
  /** Throws for a damaged table, naming it. */
  check(): void;
  /** Drops the checksums; called before a migration. */
  beforeMigration(): void;
  /** Creates missing checksums; called after the migrations. */
  afterMigrations(): void;
}

/** The state of the store from one change to the next. */
export class StoreVersion {
  private readonly state: string;

  constructor(state: string) {
    this.state = state;
  }

  is(state: string): boolean {
    return state === this.state;
  }
}

export class StoreVersions {
  private readonly state: StoreState;
  private newest = new StoreVersion('');

  constructor(state: StoreState) {
    this.state = state;
  }

  /** The version that is current after the call. */
  current(): StoreVersion | Promise<StoreVersion> {
    const state = this.state.read();
    return typeof state === 'string' ? this.at(state) : state.then((current) => this.at(current));
  }

  private at(state: string): StoreVersion {
    if (!this.newest.is(state)) this.newest = new StoreVersion(state);
    return this.newest;
  }
}
