// What the index service and its neighbours say to each other: plain data. The cluster manager keeps the definitions and tells the
// service the whole wanted state; the service reports what became of it.
import type { IndexDefinition, IndexState } from '#sqlpp/datastore/indexes.ts';

export type { IndexDefinition, IndexKey, IndexState } from '#sqlpp/datastore/indexes.ts';

/** A definition and what is wanted of it. */
export interface WantedIndex {
  readonly definition: IndexDefinition;
  /** False: it waits for BUILD INDEX. */
  readonly isBuilt: boolean;
}

export interface WantedIndexes {
  readonly indexes: readonly WantedIndex[];
  /** `indexMemoryQuota`: page caches and build buffers. */
  readonly memoryQuotaBytes: number;
}

export interface IndexReport {
  readonly id: string;
  readonly state: IndexState;
  /** 0 to 100. */
  readonly progress: number;
  readonly message?: string;
  readonly documentsTaken: number;
  readonly documentsWaiting: number;
  /** Documents with keys above a limit. */
  readonly leftOut: number;
  readonly fileBytes: number;
  readonly rows: number;
  /** Milliseconds since 1970; 0: never. */
  readonly lastScanMs: number;
  readonly scans: number;
  readonly scannedRows: number;
  readonly scanMicros: number;
  /** Of an `IndexProgress`; none while nothing is built. */
  readonly shared?: SharedArrayBuffer;
  /** Rises when the file is replaced: readers of the old one close it. */
  readonly generation: number;
}

/** The node's index service, as the cluster manager uses it. */
export interface IndexDoor {
  /** The whole wanted state. Returns at once; the service follows. */
  apply(wanted: WantedIndexes): void;
  /** The newest known. */
  reports(): readonly IndexReport[];
  /** Asks the service first, so that figures are of now. */
  refresh(): Promise<void>;
  onChange(listener: () => void): { stop(): void };
}

export type NewIndex = Omit<IndexDefinition, 'id'>;
export type IndexKeyspace = IndexDefinition['keyspace'];

export type CreateOutcome =
  | { readonly kind: 'created' | 'exists'; readonly id: string }
  /** `reason` is a sentence that names what would be right. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface IndexChange {
  readonly action: string;
  readonly replicas?: number;
}

/** Changes of definitions. Each resolves when the change is stored; what follows from it shows in reports. */
export interface IndexDefinitions {
  create(definition: NewIndex): Promise<CreateOutcome>;
  drop(keyspace: IndexKeyspace, name: string): Promise<'dropped' | 'not found'>;
  /** The names that do not exist, if any: then nothing is built. */
  build(keyspace: IndexKeyspace, names: readonly string[]): Promise<readonly string[]>;
  alter(
    keyspace: IndexKeyspace,
    name: string,
    change: IndexChange,
  ): Promise<'altered' | 'not found' | { readonly refused: string }>;
  all(): readonly WantedIndex[];
  onChange(listener: () => void): { stop(): void };
}
