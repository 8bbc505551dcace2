/** Where other nodes of the cluster reach a node. */
export interface NodeAddress {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
}
