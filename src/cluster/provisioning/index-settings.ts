// The settings of the index service: their ranges and defaults.
import type { Form } from '#contract/route.ts';
import type { Edition } from '../config/cluster-state.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { FormReader } from '../forms/form-reader.ts';

const indexDefaults = {
  redistributeIndexes: false,
  numReplica: 0,
  enablePageBloomFilter: false,
  indexerThreads: 0,
  memorySnapshotInterval: 200,
  stableSnapshotInterval: 5000,
  maxRollbackPoints: 2,
  logLevel: 'info',
  storageMode: '',
};
type IndexValues = typeof indexDefaults;

const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'verbose', 'timing', 'debug', 'trace'];
const storageModes: Record<Edition, readonly string[]> = {
  enterprise: ['plasma', 'memory_optimized', ''],
  community: ['forestdb', ''],
};
/** The limit of the intervals and of the rollback points, which are stored and not used. */
const intMax = 2 ** 31 - 1;

/** The node uses `numReplica`, shows `storageMode` as the type of indexes (all are in files), and only stores and returns the others. */
export class IndexSettings {
  readonly #store: SettingsStore;
  readonly #edition: Edition;

  constructor(store: SettingsStore, edition: Edition) {
    this.#store = store;
    this.#edition = edition;
  }

  read(): Promise<IndexValues> {
    return this.#store.read('indexes', indexDefaults);
  }

  change(changes: Partial<IndexValues>): Promise<IndexValues> {
    return this.#store.change('indexes', indexDefaults, changes);
  }

  /** The field for the storage mode of indexes, under the name that the call uses. */
  readStorageMode(reader: FormReader, name: string): string | undefined {
    return reader.oneOf(name, storageModes[this.#edition]);
  }

  readForm(form: Form): Partial<IndexValues> {
    const reader = new FormReader(form);
    reader.requireAnyField();
    reader.only(Object.keys(indexDefaults));
    const read = {
      redistributeIndexes: reader.boolean('redistributeIndexes'),
      numReplica: reader.integer('numReplica', 0, 16),
      enablePageBloomFilter: reader.boolean('enablePageBloomFilter'),
      indexerThreads: reader.integer('indexerThreads', 0, 1024),
      memorySnapshotInterval: reader.integer('memorySnapshotInterval', 1, intMax),
      stableSnapshotInterval: reader.integer('stableSnapshotInterval', 1, intMax),
      maxRollbackPoints: reader.integer('maxRollbackPoints', 1, intMax),
      logLevel: reader.oneOf('logLevel', logLevels),
      storageMode: this.readStorageMode(reader, 'storageMode'),
    };
    reader.refuseIfInvalid();
    return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
  }
}
