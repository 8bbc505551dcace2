// Setting `xdcr`: references to other clusters, replications to them, and the defaults of new replications.
import type { CollectionMapping } from '#xdcr/mapping/mapping.contract.ts';
import type { ReplicationSettings } from './replication-settings.ts';

/** `half`: REST calls use TLS, and documents are sent without it. */
export type SecureType = 'none' | 'half' | 'full';

export interface StoredReference {
  readonly name: string;
  /** Id of the target cluster, from its own reply. */
  readonly uuid: string;
  /** As the administrator specified it. */
  readonly hostname: string;
  readonly username: string;
  readonly sealedPassword: string;
  readonly secureType: SecureType;
  /** PEM; empty without encryption. */
  readonly certificate: string;
  /** PEM; empty: username and password log in. */
  readonly clientCertificate: string;
  readonly sealedClientKey: string;
  /** Replications to it use the alternate addresses of its nodes. */
  readonly isExternal: boolean;
  /** `host:port` of the REST ports of its nodes, as the cluster named them last. */
  readonly nodes: readonly string[];
}

export interface StoredReplication {
  readonly id: string;
  /** Uuid of the target cluster. It identifies the reference, whose name may change. */
  readonly clusterUuid: string;
  readonly fromBucket: string;
  readonly fromBucketUuid: string;
  readonly toBucket: string;
  /** Whether it uses the alternate addresses of the target; absent: as its reference does. */
  readonly isExternal?: boolean;
  readonly settings: ReplicationSettings;
  readonly pauseRequested: boolean;
  /** Which checkpoints count; see `filter-epochs.ts`. */
  readonly filterEpochs: readonly string[];
  readonly mapping: CollectionMapping;
  /** The mappings before this one, the newest first. */
  readonly formerMappings: readonly CollectionMapping[];
}

export interface XdcrState {
  readonly references: readonly StoredReference[];
  readonly replications: readonly StoredReplication[];
  readonly defaults: Partial<ReplicationSettings>;
}

export const xdcrSetting = 'xdcr';
export const noXdcr: XdcrState = { references: [], replications: [], defaults: {} };
export const passwordPurpose = 'xdcr/password';
export const clientKeyPurpose = 'xdcr/client-key';
export const limits = { references: 100, replications: 100 } as const;
