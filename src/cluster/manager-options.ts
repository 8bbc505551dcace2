// The dependencies of the cluster manager.
import type { Kdf } from '#auth/kdf.ts';
import type { SecretBox } from '#auth/secret-box.ts';
import type { IndexServiceAdmin } from '#index/index.contract.ts';
import type { Metrics } from '#metrics/metrics.feature.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { XdcrAdmin } from '#xdcr/xdcr.contract.ts';
import type { AgentDeps } from './agent/agent.ts';
import type { Mailer } from './alerts/mailer.ts';
import type { AuditFile } from './audit/audit-file.ts';
import type { CertificateFiles } from './certificates/certificates.service.ts';
import type { Inbox } from './certificates/inbox.ts';
import type { IssueCertificates } from './certificates/issue.ts';
import type { PassphraseSources } from './certificates/passphrase.ts';
import type { Edition, Vocabulary } from './config/cluster-state.ts';
import type { NodeIdentity } from './config/node-identity.ts';
import type { DataPortAccess } from './documents/open-bucket.ts';
import type { OpenJournal } from './events/events.feature.ts';
import type { NodeMembership } from './joining/join-messages.ts';
import type { CallRemote } from './joining/remote-node.ts';
import type { DirectoryServer } from './ldap/directory-server.ts';
import type { BundleFiles } from './log-collection/bundle-files.ts';
import type { ProcessFigures } from './metrics/machine-metrics.ts';
import type { System } from './nodes/system.ts';
import type { NodeNet } from './peers/inter-node.ts';
import type { HostEnvironment } from './provisioning/node-setup.service.ts';
import type { ServiceAddress } from './service-proxy.ts';
import type { CallTarget } from './xdcr/target-cluster.ts';

/** The ports to everything outside the process. */
export interface MachinePorts {
  system: System;
  environment: HostEnvironment;
  certificateFiles: CertificateFiles;
  inbox: Inbox;
  passphrases: PassphraseSources;
  /** Issues the certificates of this node. */
  issue: IssueCertificates;
  /** Calls nodes that are not of this cluster. */
  callRemote: CallRemote;
  /** Calls the REST API of another cluster, to which this one replicates. */
  callTarget: CallTarget;
  /** Why a port of a host cannot be reached from here; null if it can. */
  portProblem: (host: string, port: number) => Promise<string | null>;
  /** Sends mail; trusts these authorities in addition to those of the machine. */
  mailer: (trusted: () => Promise<readonly string[]>) => Mailer;
  /** Queries LDAP servers; trusts these authorities in addition to those of the machine. */
  directoryServer: (trusted: () => Promise<readonly string[]>) => DirectoryServer;
  /** Writes the audit log. */
  auditFile: AuditFile;
  /** Writes support bundles. */
  bundleFiles: BundleFiles;
  /** Stores events. */
  journal: OpenJournal;
  /** Addresses and names of this machine, for its certificate. */
  ownNames: readonly string[];
  /** Memory that this process may use. */
  memoryBytes: () => number;
  process: () => ProcessFigures;
  /** Memory in use by this thread; excludes the data service. */
  managerBytes: () => number;
}

export interface ClusterManagerOptions extends MachinePorts {
  store: ConfigStore;
  identity: NodeIdentity;
  kv: AgentDeps['kv'];
  /** How connections of this node reach its data port. */
  dataPort: DataPortAccess;
  /** Absent: the node does not run the query service. */
  queryPort?: ServiceAddress;
  /** Absent: the node does not run the backup service. */
  backupPort?: ServiceAddress;
  /** The index service, if the node runs one. */
  indexes?: IndexServiceAdmin;
  /** Replication to other clusters. Absent: references and replications are stored, and nothing is sent. */
  xdcr?: XdcrAdmin;
  /** Running tasks of the backup service, for the list of tasks. */
  backupTasks?: () => readonly Record<string, unknown>[];
  kdf: Kdf;
  /** Joining and leaving clusters. Absent: this node does neither. */
  membership?: NodeMembership;
  /** Connects this node to other nodes of the cluster. Absent: it connects to none. */
  net?: NodeNet;
  /** Encrypts secrets of the configuration under the cluster's key, which a founder has in its data folder. */
  secrets: SecretBox;
  clock: Clock;
  random: Random;
  log: Log;
  edition: Edition;
  /** Vocabulary of buckets created without an explicit type. */
  wireNames: Vocabulary;
  /** The version of this product: `0.1.0`. */
  release: string;
  dataFolder: string;
  metrics: Pick<Metrics, 'registry' | 'store' | 'watched'>;
  /** The services that this process runs or could run; by default all of this version. */
  startedServices?: readonly string[];
  /** Connections from this address are always admitted; see the client allowlist. */
  operatorAddress?: string | undefined;
}
