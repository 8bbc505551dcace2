// A query request with parsed parameters.
import type { Durability } from '#sqlpp/datastore/documents.ts';
import type { Value } from '#sqlpp/values/value.ts';

export type ScanConsistency = 'not_bounded' | 'request_plus' | 'statement_plus' | 'at_plus';

export interface VectorEntry {
  readonly seqno: number;
  /** 0n: any history. */
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
  /** False if the default applies. */
  isConsistencySet: boolean;
  /** The vector for a statement over one keyspace. */
  scanVector: ScanVector | null;
  /** By keyspace name as sent. */
  scanVectors: ReadonlyMap<string, ScanVector> | null;
  /** How long a scan waits until the index has the requested consistency; 0: as long as the index service allows. */
  scanWaitMs: number;
  /** 0: the timeout of the service. */
  timeoutMs: number;
  isReadonly: boolean;
  /** null, here and in the following members: the setting of the service or the default applies. */
  metrics: boolean | null;
  signature: boolean | null;
  pretty: boolean | null;
  profile: 'off' | 'phases' | 'timings' | null;
  controls: boolean | null;
  autoPrepare: boolean | null;
  autoExecute: boolean;
  /** Megabytes; 0: the quota of the service. */
  memoryQuotaMb: number;
  preserveExpiry: boolean;
  errorLimit: number | null;
  durability: Durability | null;
  /** The text as sent. */
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
