// The nodes of a cluster: rows, specifications, clients and health.
import type { SecretBox } from '#auth/secret-box.ts';
import type { Clock } from '#ports/clock.ts';
import { openSealed } from '../access/sealed.ts';
import { type HealthStats, healthOf } from '../node-client/cluster-health.ts';
import { NodeClient } from '../node-client/node-client.ts';
import type { NodePorts, NodeSpec, Placement, Provisioner } from '../provisioner/provisioner.ts';
import type { ClusterRow, NodeRow, Store } from '../store/tables.ts';
import { nodeRunsDataService } from './node-rows.ts';
import { type Phase, type V3Status, v3Status } from './phase.ts';

const administratorPurpose = 'cluster administrator';
const standardKvPort = 11210;

export interface Administrator {
  readonly username: string;
  readonly password: string;
}

export interface ClusterNodesOptions {
  store: Store;
  secrets: SecretBox;
  clock: Clock;
  provisioner: Pick<Provisioner, 'downReason'>;
  /** The home whose nodes this process runs. */
  home: string;
  /** The local address of the cloud's requests to nodes, which admit it always; undefined: any. */
  operatorAddress: string | undefined;
}

export class ClusterNodes {
  private readonly options: ClusterNodesOptions;

  constructor(options: ClusterNodesOptions) {
    this.options = options;
  }

  rowsOf(clusterId: string): Promise<NodeRow[]> {
    return this.options.store
      .selectFrom('nodes')
      .selectAll()
      .where('cluster_id', '=', clusterId)
      .orderBy('position')
      .execute();
  }

  spec(cluster: ClusterRow, node: NodeRow): NodeSpec {
    return {
      id: node.id,
      clusterId: cluster.id,
      ...placementOf(node),
      memoryMb: node.memory_mb,
      services: JSON.parse(node.services) as string[],
      administrator: this.administrator(cluster),
    };
  }

  sealAdministrator(administrator: Administrator): string {
    return this.options.secrets.seal(administratorPurpose, JSON.stringify(administrator));
  }

  private administrator(cluster: ClusterRow): Administrator {
    return JSON.parse(
      openSealed(this.options.secrets, administratorPurpose, cluster.administrator_sealed),
    ) as Administrator;
  }

  /** The nodes that belong to the cluster and stay in it. */
  async members(clusterId: string): Promise<NodeRow[]> {
    return (await this.rowsOf(clusterId)).filter(({ state }) => state === 'member');
  }

  /** The addresses in connection strings. */
  async endpoints({ id }: ClusterRow): Promise<string[]> {
    return (await this.members(id)).filter(({ address }) => address !== '').map(endpointOf);
  }

  clientOf(cluster: ClusterRow, node: NodeRow): NodeClient {
    const { operatorAddress: localAddress, clock } = this.options;
    const downReason = (): string | null => this.downReason(node);
    return new NodeClient(this.spec(cluster, node), { localAddress, clock, downReason });
  }

  /** One client for each member. */
  async clients(cluster: ClusterRow): Promise<NodeClient[]> {
    return (await this.members(cluster.id)).map((node) => this.clientOf(cluster, node));
  }

  /** One client for each member that runs the data service. */
  async dataClients(cluster: ClusterRow): Promise<NodeClient[]> {
    const nodes = (await this.members(cluster.id)).filter(nodeRunsDataService);
    return nodes.map((node) => this.clientOf(cluster, node));
  }

  private downReason({ id, home }: NodeRow): string | null {
    const { provisioner, home: ownHome } = this.options;
    if (home === ownHome) return provisioner.downReason(id);
    return `it is run by the server whose data folder has ${home} in its file folder.id: start that server`;
  }

  /** A ready cluster is `degraded` while its nodes report a problem. */
  async v3Status(cluster: ClusterRow): Promise<V3Status> {
    if (cluster.phase !== 'ready') return v3Status[cluster.phase as Phase];
    return (await this.health(cluster)).health === 'healthy' ? 'healthy' : 'degraded';
  }

  async health(cluster: ClusterRow): Promise<HealthStats> {
    return healthOf(await this.clients(cluster), await this.endpoints(cluster));
  }

  /** A client of the founder, which stores the configuration of the cluster. */
  async founderClient(cluster: ClusterRow): Promise<NodeClient> {
    const [client] = await this.clients(cluster);
    if (client === undefined) throw new Error(`cluster ${cluster.id} has no nodes`);
    return client;
  }
}

export const placementOf = (node: NodeRow): Placement => ({
  address: node.address,
  ports: JSON.parse(node.ports) as NodePorts,
});

/** The node in the host list of a connection string: its address, with the data port unless that is the standard one. */
function endpointOf(node: NodeRow): string {
  const { address, ports } = placementOf(node);
  return ports.kv === standardKvPort ? address : `${address}:${ports.kv}`;
}
