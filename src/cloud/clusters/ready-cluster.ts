// For operations on the contents of a cluster: requires that the cluster is ready, or was ready before its last change of servers failed. The
// error says why it is not ready.
import { type ApiError, invalid, notFound } from '../answers/api-error.ts';
import type { NodeClient } from '../node-client/node-client.ts';
import type { OperationsStore } from '../operations/operations.store.ts';
import type { ClusterRow } from '../store/tables.ts';
import type { ClusterNodes } from './cluster-nodes.ts';
import { managedPhases } from './phase.ts';

export interface ReadyCluster {
  readonly row: ClusterRow;
  readonly client: NodeClient;
}

export interface ReadyClustersOptions {
  nodes: ClusterNodes;
  operations: OperationsStore;
}

export class ReadyClusters {
  private readonly options: ReadyClustersOptions;

  constructor(options: ReadyClustersOptions) {
    this.options = options;
  }

  async requireReady(row: ClusterRow): Promise<ReadyCluster> {
    if (!managedPhases.includes(row.phase)) throw await this.notReady(row);
    const [client] = await this.options.nodes.clients(row);
    // The cluster was deleted since its row was read: the body of a request may take long to arrive.
    if (client === undefined) throw notFound(`there is no cluster ${row.id}`);
    return { row, client };
  }

  private async notReady(row: ClusterRow): Promise<ApiError> {
    const operation = await this.options.operations.latestOf(row.id);
    const reason = operation?.last_error == null ? '' : `; last error: ${operation.last_error}`;
    return invalid(
      `cluster ${row.id} is ${row.phase}, not ready (see /v3/operations/${operation?.id}${reason})`,
    );
  }
}
