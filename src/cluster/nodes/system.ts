// What a node can say of the machine it runs on.

/** Percentages of processor time; `user` is that of programs. */
export interface HostCpuShares {
  utilization: number;
  user: number;
  system: number;
}

/** Of all cores that the node may use; interrupts and what the hypervisor took are the machine's. */
export interface CpuShares extends HostCpuShares {
  irq: number;
  stolen: number;
  host: HostCpuShares;
}

export interface SystemFigures {
  /**
   * Bytes. `limit` is what this process may have: the container's limit where there is one. `taken` is the machine's, caches
   * of files included.
   */
  memory: {
    total: number;
    free: number;
    limit: number;
    taken: number;
    swapTotal: number;
    swapUsed: number;
  };
  /** `cores` is what a container's quota leaves of the machine's `count`, and may be a fraction. */
  cpu: CpuShares & { cores: number; count: number };
  /** Times that an allocation had to wait for memory, since the machine started. */
  allocationStalls: number;
  disk: DiskFigures;
}

/** The file system that holds the node's data; bytes. */
export interface DiskFigures {
  mountPoint: string;
  totalBytes: number;
  usedBytes: number;
  freeBytes: number;
}

/** How full the disk is, from 0 to 1: what is kept back for the system's administrator is no room, as `df` sees it too. */
export function usedShare({ usedBytes, freeBytes }: DiskFigures): number {
  const withinReach = usedBytes + freeBytes;
  return withinReach > 0 ? usedBytes / withinReach : 0;
}

export interface System {
  /** Like `x86_64-unknown-linux`. */
  readonly os: string;
  figures(): Promise<SystemFigures>;
  disk(): Promise<DiskFigures>;
}
