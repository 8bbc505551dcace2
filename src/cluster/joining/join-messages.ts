// What a node that adds another and the added one send each other.
import type { StoreContent, StoredRecord, StoreTerm } from '#replog/mirror/config-link.ts';
import type { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import type { NatsFiles } from '#replog/nats/nats-files.adapter.ts';
import type { NodeAddress } from '#replog/node-address.ts';
import type { NatsServerGroup } from '#replog/own-servers/server-group.adapter.ts';
import type { OwnServerSettings } from '#replog/own-servers/server-settings.ts';
import type { NodeCredentials } from '#replog/served/node-connect.adapter.ts';
import type { AlternateAddresses, NodeNetwork, NodePaths, NodePorts } from '../config/cluster-state.ts';

/** The first call: may this node join? */
export interface EngageRequest {
  /** The uuid of the cluster that adds the node. */
  readonly clusterUuid: string;
  /** The published compatibility version of the cluster: 65536 times the major version, plus the minor version. */
  readonly compatibility: number;
  /** The version of the cluster's protocols and records that all its nodes know; absent: that of Divan 0.2. */
  readonly version?: number;
  readonly services: readonly string[];
  /** See SealedExchange. */
  readonly offer: string;
}

/** What the cluster must know about the node. */
export interface EngagedNode {
  readonly nodeId: string;
  readonly compatibility: number;
  /** The version that the node knows; absent: that of Divan 0.2. */
  readonly version?: number;
  readonly offer: string;
  readonly wallMs: number;
  readonly supportedServices: readonly string[];
  /** Megabytes that the quotas of its services may take together. */
  readonly quotaMaxMb: number;
  readonly ports: NodePorts;
  readonly paths: NodePaths;
  /** The host name that an operator gave to the node before; null: none. */
  readonly hostname: string | null;
  readonly alternate: AlternateAddresses | null;
  readonly network?: NodeNetwork;
}

/** The sealed content of the second call: what the node needs to join. */
export type JoinParameters = FounderJoinParameters | NatsJoinParameters;

/** For a node that joins a cluster whose founder stores the configuration. */
export interface FounderJoinParameters extends ClusterSecrets {
  readonly founder: NodeAddress;
}

/** For a node that joins a cluster whose configuration is on NATS servers. */
export interface NatsJoinParameters extends ClusterSecrets {
  readonly nats: NatsSource;
}

interface ClusterSecrets {
  readonly clusterUuid: string;
  /** Base64. */
  readonly clusterKey: string;
  readonly credentials: NodeCredentials;
}

/** The NATS servers of a cluster, and what a node needs to log in there. */
export interface NatsSource {
  /** In the form of the option `--engine`. */
  readonly servers: string;
  readonly bucket: string;
  /** Certificates and credentials: their contents, since a member does not have the files at their paths. */
  readonly files: NatsFiles;
  /** Nodes of the cluster run the servers: the configuration can go back to a founder. */
  readonly own?: true;
}

/** What the data folder does when the node joins or leaves a cluster. The process then restarts its parts. */
export interface NodeMembership {
  /** Why a node on this engine joins no cluster; null if it can. */
  readonly engineProblem: string | null;
  /** Where the members find the configuration; null: at the founder. Reads files: @throws Error for one that cannot be read. */
  natsSource(): NatsSource | null;
  /** This node stores the configuration itself. */
  readonly isFounder: boolean;
  /** Encrypts the secrets of the configuration. */
  clusterKey(): Uint8Array;
  /** Stores the new port for connections between nodes that the founder has reported. */
  founderMoved(port: number): void;
  /** Stores durably that this node joins, and starts the parts again once requests under way are answered. */
  join(parameters: JoinParameters): void;
  /** Stores durably that this node is no longer a member, and starts again as a new node. */
  leave(): void;
  /** How the configuration goes to another node; null: no node stores it. */
  readonly founderTransfer: FounderTransfer | null;
  /** How the configuration goes to NATS servers that nodes run; null: this node cannot join other nodes (see no-membership.ts). */
  readonly engineTransfer: EngineTransfer | null;
}

export type MemberMirror = Pick<MirroredConfigStore, 'head' | 'state' | 'problem' | 'fence' | 'release'>;

/** The parts of the data folder and of the process with which a member takes the configuration over, and a founder gives it up. */
export interface FounderTransfer {
  /** What this member has of the configuration; null on the node that stores it. */
  readonly mirror: MemberMirror | null;
  /** Stores this configuration durably in the data folder, and uses it from now on. */
  takeOver(state: StoreContent): Promise<void>;
  /** Follows that founder from now on, durably. */
  follow(founder: NodeAddress, epoch: number): void;
  /**
   * This founder makes no change until `resume`, or until it has handed its configuration over. Returns the whole configuration; null if
   * this node is not the founder.
   */
  pause(): Promise<StoreContent | null>;
  resume(): void;
  /** Planned change, after `pause`: the other node has the configuration, and this one follows it durably; documents are served meanwhile. */
  handOver(parameters: FounderJoinParameters, epoch: number): Promise<void>;
  /** Another founder with a later epoch exists: this one stops being the founder, follows that one durably, and starts the parts again. */
  stepDown(parameters: FounderJoinParameters): void;
}

/** A node that can run a server of its cluster's configuration, with the ports that the server would have. */
export interface ServerPlace {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
  readonly routePort: number;
}

/** What one node needs to run its server, except for the address, which the node knows. */
export type ServerTask = Omit<OwnServerSettings, 'host'>;

/** Where the configuration is when nodes of the cluster keep it on NATS servers of their own. */
export interface EngineRecord {
  /** Ids of the nodes that run a server each. */
  readonly nodes: readonly string[];
  /** A NatsSource as JSON, encrypted under the cluster's key. */
  readonly source: string;
  /** A ServerCluster as JSON, encrypted in the same way. */
  readonly servers?: string;
}

/** Where the configuration is, since that epoch: on servers that nodes run, or at a founder. */
export type EnginePlace = { readonly epoch: number } & (
  | { readonly record: EngineRecord }
  | { readonly founder: NodeAddress }
);

/** The store that a node has, or follows, when it asks for a later place of the configuration. */
export interface PlaceRequest extends StoreTerm {
  /** The node understands every form of the answer; one of 0.2 understands a founder only. */
  readonly takesAnyPlace?: true;
}

/** Where the configuration is in a later epoch than that of the asking node, or that the cluster has removed the node in that epoch. */
export type LaterPlace = EnginePlace | { readonly epoch: number; readonly isRemoved: true };

/** Which servers the NATS cluster consists of. */
export type ServerMembers = Pick<NatsServerGroup, 'members' | 'remove'>;

/** The parts of the data folder and of the process with which the configuration goes to servers that nodes run themselves, and back. */
export interface EngineTransfer {
  /** This node was started for a configuration on NATS servers. */
  readonly wantsServers: boolean;
  /** Ports for a NATS server of this node, none of them in `taken`. Null if the options of this node do not allow such servers. */
  offer(taken: readonly number[]): Promise<Pick<ServerPlace, 'port' | 'routePort'> | null>;
  /** Starts a new server. Resolves when it can be reached. */
  runServer(task: ServerTask): Promise<void>;
  /** The founder writes the configuration to the servers, and uses it there from then on. */
  moveToServers(move: MoveToServers): Promise<void>;
  /** A member uses the configuration on the servers from now on, durably. */
  useServers(parameters: NatsJoinParameters): Promise<void>;
  /** Ends the store on the servers: this node becomes the founder, at that address. */
  returnToFounder(own: NodeAddress): Promise<void>;
  /** A member uses the configuration of that founder instead of the servers' from now on, durably. */
  followFounder(founder: NodeAddress, epoch: number): Promise<void>;
  /** Stores durably that the cluster removed this node while this node could not reach the configuration, and starts again as a new node. */
  removed(): void;
  /** The name of this node's server among the others; null: it has none. */
  serverName(): string | null;
  /** Stops the server of this node, and removes what it stored. */
  removeServer(): Promise<void>;
  /** Stores durably where the servers are from now on. */
  sourceChanged(source: NatsSource): void;
  /** The members of the NATS cluster. `source` has the login of the user that may read and change them. */
  groupOf(source: NatsSource): ServerMembers;
}

export interface MoveToServers {
  readonly parameters: NatsJoinParameters;
  readonly record: EngineRecord;
  /** The records with which the servers begin, made of the present configuration. */
  contentAfter(content: StoreContent): readonly StoredRecord[];
  /** Called once it is certain that the configuration is on the servers. */
  committed(): Promise<void>;
}
