// What is in a cluster can be asked for once it is ready; before, the refusal says what is in the way.
import type { Caller } from '../access/caller.ts';
import { type Goof, invalid, notFound } from '../http/goof.ts';
import type { Version } from '../http/versions.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import type { ClusterRow } from '../store/tables.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import type { ClustersService } from './clusters.service.ts';

export interface ReadyCluster {
  readonly row: ClusterRow;
  readonly client: NodeClient;
}

export interface ReadyClustersOptions {
  clusters: ClustersService;
  nodes: ClusterNodes;
  operations: OperationsStore;
}

export class ReadyClusters {
  private readonly options: ReadyClustersOptions;

  constructor(options: ReadyClustersOptions) {
    this.options = options;
  }

  /** The row, whatever its phase. Hosted clusters are none of v2's. */
  async row(caller: Caller, id: string, version: Version): Promise<ClusterRow> {
    const row = await this.options.clusters.show(caller, id);
    if (version === 'v2' && row.environment === 'hosted') {
      throw notFound(`cluster ${id} is a hosted one: use /v3/clusters/${id}`);
    }
    return row;
  }

  async forReading(caller: Caller, id: string, version: Version): Promise<ReadyCluster> {
    return this.ready(await this.row(caller, id, version));
  }

  async forWriting(caller: Caller, id: string, version: Version): Promise<ReadyCluster> {
    const row = await this.row(caller, id, version);
    caller.needWrite(row.project_id);
    return this.ready(row);
  }

  private async ready(row: ClusterRow): Promise<ReadyCluster> {
    if (row.phase !== 'ready') throw await this.notReady(row);
    return { row, client: await this.options.nodes.client(row) };
  }

  private async notReady(row: ClusterRow): Promise<Goof> {
    const operation = await this.options.operations.latestOf(row.id);
    const reason = operation?.last_error == null ? '' : `; last error: ${operation.last_error}`;
    return invalid(
      `cluster ${row.id} is ${row.phase}, not ready (see /v3/operations/${operation?.id}${reason})`,
    );
  }
}
