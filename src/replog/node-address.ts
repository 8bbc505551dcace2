/** Where a node of the cluster serves the others. */
export interface NodeAddress {
  readonly nodeId: string;
  readonly host: string;
  readonly port: number;
}
