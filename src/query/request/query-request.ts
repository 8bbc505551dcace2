// What a client asks the service for, once its parameters have been read.
import type { Durability } from '#sqlpp/datastore/documents.ts';
import type { Value } from '#sqlpp/values/value.ts';

export type ScanConsistency = 'not_bounded' | 'request_plus' | 'statement_plus' | 'at_plus';

export interface VectorEntry {
  readonly seqno: number;
  /** 0n: whatever history. */
  readonly uuid: bigint;
}

/** By vbucket. */
export type ScanVector = ReadonlyMap<number, VectorEntry>;

export interface Credential {
  readonly user: string;
  readonly password: string;
}

export interface QueryContext {
  readonly bucket: string;
  readonly scope: string;
}

export interface QueryRequest {
  statement: string | null;
  /** Name of a prepared statement. */
  prepared: string | null;
  encodedPlan: string | null;
  positional: readonly Value[];
  readonly named: Map<string, Value>;
  credentials: readonly Credential[];
  clientContextId: string | null;
  consistency: ScanConsistency;
  /** False: it is the default. */
  isConsistencySet: boolean;
  /** Of the only keyspace. */
  scanVector: ScanVector | null;
  /** By keyspace as it was named. */
  scanVectors: ReadonlyMap<string, ScanVector> | null;
  scanWaitMs: number;
  /** 0: none of its own. */
  timeoutMs: number;
  isReadonly: boolean;
  metrics: boolean | null;
  signature: boolean | null;
  pretty: boolean | null;
  profile: 'off' | 'phases' | 'timings' | null;
  controls: boolean | null;
  autoPrepare: boolean | null;
  autoExecute: boolean;
  /** Megabytes; 0: none of its own. */
  memoryQuotaMb: number;
  preserveExpiry: boolean;
  errorLimit: number | null;
  durability: Durability | null;
  /** As it was sent. */
  queryContextText: string;
  queryContext: QueryContext | null;
  featureControls: number | null;
  useCbo: boolean | null;
  transaction: TransactionParameters;
}

export interface TransactionParameters {
  id: string | null;
  isImplicit: boolean;
  statementNumber: number | null;
  timeoutMs: number | null;
  data: Value;
  atrCollection: string | null;
  kvTimeoutMs: number | null;
}

export const emptyRequest = (): QueryRequest => ({
  statement: null,
  prepared: null,
  encodedPlan: null,
  positional: [],
  named: new Map(),
  credentials: [],
  clientContextId: null,
  consistency: 'not_bounded',
  isConsistencySet: false,
  scanVector: null,
  scanVectors: null,
  scanWaitMs: 0,
  timeoutMs: 0,
  isReadonly: false,
  metrics: null,
  signature: null,
  pretty: null,
  profile: null,
  controls: null,
  autoPrepare: null,
  autoExecute: false,
  memoryQuotaMb: 0,
  preserveExpiry: false,
  errorLimit: null,
  durability: null,
  queryContextText: '',
  queryContext: null,
  featureControls: null,
  useCbo: null,
  transaction: {
    id: null,
    isImplicit: false,
    statementNumber: null,
    timeoutMs: null,
    data: undefined,
    atrCollection: null,
    kvTimeoutMs: null,
  },
});
