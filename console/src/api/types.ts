// The parts of answers that the console shows. Memory and disk space are in bytes unless a comment names the unit.

export interface NodeInfo {
  readonly hostname: string;
  readonly otpNode: string;
  readonly thisNode?: boolean;
  readonly status: string;
  readonly clusterMembership: string;
  readonly recoveryType: string;
  readonly services: readonly string[];
  readonly version: string;
  /** In seconds. */
  readonly uptime: string;
  readonly memoryTotal: number;
  readonly memoryFree: number;
  readonly systemStats: {
    /** In percent. */
    readonly cpu_utilization_rate?: number;
  };
  readonly serverGroup: string;
}

export interface Cluster {
  readonly clusterName: string;
  readonly balanced: boolean;
  readonly rebalanceStatus: string;
  /** In MiB, on each node. */
  readonly memoryQuota: number;
  readonly indexMemoryQuota: number;
  readonly alerts: readonly { readonly msg: string; readonly serverTime: string }[];
  readonly alertsSilenceURL: string;
  readonly nodes: readonly NodeInfo[];
  readonly storageTotals: {
    readonly ram: StorageTotal & { readonly quotaTotal: number; readonly quotaUsed: number };
    readonly hdd: StorageTotal;
  };
}

interface StorageTotal {
  readonly total: number;
  readonly used: number;
  readonly usedByData: number;
}

export interface Bucket {
  readonly name: string;
  readonly bucketType: string;
  readonly replicaNumber?: number;
  readonly evictionPolicy?: string;
  readonly compressionMode?: string;
  /** In seconds. */
  readonly maxTTL?: number;
  readonly durabilityMinLevel?: string;
  readonly controllers: { readonly flush?: string };
  /** `ram`: on all nodes together; `rawRAM`: on each. */
  readonly quota: { readonly ram: number; readonly rawRAM: number };
  readonly basicStats: {
    readonly itemCount?: number;
    readonly opsPerSec?: number;
    readonly memUsed?: number;
    readonly diskUsed?: number;
  };
}

export interface Task {
  readonly type: string;
  readonly status: string;
  readonly bucket?: string;
  /** In percent. */
  readonly progress?: number;
  readonly errorMessage?: string;
  readonly id?: string;
  readonly source?: string;
  readonly target?: string;
  readonly changesLeft?: number;
  readonly docsWritten?: number;
  readonly pauseRequested?: boolean;
  readonly errors?: readonly unknown[];
}

export interface Manifest {
  readonly uid: string;
  readonly scopes: readonly {
    readonly name: string;
    readonly collections: readonly {
      readonly name: string;
      /** In seconds. */
      readonly maxTTL?: number;
    }[];
  }[];
}

export interface StoredDocument {
  readonly meta: {
    readonly id: string;
    readonly cas: string;
    /** Seconds since 1970; 0: the document does not expire. */
    readonly expiration: number;
    readonly flags: number;
  };
  readonly xattrs: Readonly<Record<string, unknown>>;
  readonly json?: string;
  readonly base64?: string;
}

export interface Identity {
  readonly id: string;
  readonly domain: string;
}
