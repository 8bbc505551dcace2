// The interface of the index service, in plain data. The cluster manager stores the definitions and sends the
// whole desired state to the service; the service reports the state of each index.
import type { IndexChange, IndexDefinition, IndexState, NewIndex } from '#sqlpp/datastore/indexes.ts';

export type {
  IndexChange,
  IndexDefinition,
  IndexKey,
  IndexState,
  NewIndex,
} from '#sqlpp/datastore/indexes.ts';

/** A folder of index files outside of the data folder has this prefix and the id of its node as its name. */
export const placePrefix = 'divan-index-';

/** A definition and whether to build it. */
export interface WantedIndex {
  readonly definition: IndexDefinition;
  /** False until BUILD INDEX, for a deferred index. */
  readonly isBuilt: boolean;
}

export interface WantedIndexes {
  readonly indexes: readonly WantedIndex[];
  /** `indexMemoryQuota`: page caches and build buffers. */
  readonly memoryQuotaBytes: number;
  /** The folder of the index files; null: they are in the data folder. */
  readonly place: string | null;
}

export interface IndexReport {
  readonly id: string;
  readonly state: IndexState;
  /** 0 to 100. */
  readonly progress: number;
  readonly message?: string;
  /** Changes of documents that the index has processed. */
  readonly documentsProcessed: number;
  /** Documents whose new rows wait for the next commit. */
  readonly documentsWaiting: number;
  /**
   * Changes since the start whose documents were left out, because a key exceeds a limit or cannot be evaluated. A later version of such a
   * document may be in the index.
   */
  readonly leftOut: number;
  readonly fileBytes: number;
  readonly rows: number;
  /** Milliseconds since 1970; 0: never. */
  readonly lastScanMs: number;
  readonly scans: number;
  readonly scannedRows: number;
  readonly scanMicros: number;
  /** The shared memory of an `IndexProgress`; absent before the build. */
  readonly shared?: SharedArrayBuffer;
  /** Changes when the file is replaced, even if a restarted index thread does it: readers then close the old file. */
  readonly generation: number;
}

/** The node's index service, as the cluster manager uses it. */
export interface IndexServiceAdmin {
  /** Sets the whole desired state. Returns at once; the service follows asynchronously. */
  apply(wanted: WantedIndexes): void;
  /** The last reports. */
  reports(): readonly IndexReport[];
  /** Requests a report from the service and resolves when it has arrived. */
  refresh(): Promise<void>;
  onChange(listener: () => void): { stop(): void };
}

export type IndexKeyspace = IndexDefinition['keyspace'];

export type CreateOutcome =
  | { readonly kind: 'created' | 'exists'; readonly id: string }
  /** `reason` is a sentence that says what would be right. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface BuildOutcome {
  /** Names that do not exist; if there are any, nothing is built. */
  readonly missing: readonly string[];
  /** The ids of the indexes to build. */
  readonly ids: readonly string[];
}

/** Changes of definitions. Each call resolves when the change is stored; reports show its effect. */
export interface IndexDefinitions {
  create(definition: NewIndex): Promise<CreateOutcome>;
  drop(keyspace: IndexKeyspace, name: string): Promise<'dropped' | 'not found'>;
  build(keyspace: IndexKeyspace, names: readonly string[]): Promise<BuildOutcome>;
  alter(
    keyspace: IndexKeyspace,
    name: string,
    change: IndexChange,
  ): Promise<'altered' | 'not found' | { readonly refused: string }>;
  all(): readonly WantedIndex[];
  onChange(listener: () => void): { stop(): void };
}
