// The ids of the node that this process runs and of this start of the process.

export interface NodeIdentity {
  /** 32 hex digits, kept in the data folder: the `uuid` of the node's entry in the configuration. */
  readonly nodeId: string;
  /** New at each start of the process: what was only in the memory of an earlier boot is lost. */
  readonly bootId: string;
}
