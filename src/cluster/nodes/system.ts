// The interface for figures of the machine that a node runs on.

/** Percentages of processor time; `user` is the share of programs. */
export interface HostCpuShares {
  utilization: number;
  user: number;
  system: number;
}

/** Over all cores that the node may use; interrupts and time taken by the hypervisor are the machine's. */
export interface CpuShares extends HostCpuShares {
  irq: number;
  stolen: number;
  host: HostCpuShares;
}

export interface SystemFigures {
  /**
   * Bytes. `limit` is the memory that this process may use: the container's limit if there is one. `used` is the machine's, file
   * caches included.
   */
  memory: {
    total: number;
    free: number;
    limit: number;
    used: number;
    swapTotal: number;
    swapUsed: number;
  };
  /** `cores` is the part of the machine's `count` that a container's quota allows; may be a fraction. */
  cpu: CpuShares & { cores: number; count: number };
  /** Number of allocations that had to wait for memory, since the machine started. */
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

/** Utilization of the disk, from 0 to 1: space reserved for root does not count as free, as in `df`. */
export function usedShare({ usedBytes, freeBytes }: DiskFigures): number {
  const usable = usedBytes + freeBytes;
  return usable > 0 ? usedBytes / usable : 0;
}

export interface System {
  /** Like `x86_64-unknown-linux`. */
  readonly os: string;
  figures(): Promise<SystemFigures>;
  disk(): Promise<DiskFigures>;
}

/** The figures of a node that has not answered yet. */
export const noFigures: SystemFigures = {
  memory: { total: 0, free: 0, limit: 0, used: 0, swapTotal: 0, swapUsed: 0 },
  cpu: {
    utilization: 0,
    user: 0,
    system: 0,
    irq: 0,
    stolen: 0,
    cores: 0,
    count: 0,
    host: { utilization: 0, user: 0, system: 0 },
  },
  allocationStalls: 0,
  disk: { mountPoint: '', totalBytes: 0, usedBytes: 0, freeBytes: 0 },
};
