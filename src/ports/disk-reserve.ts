// Disk space reserved for changes that free space.

export interface DiskReserve {
  /** Frees a part of the reserve for a change that the caller writes at once. False when the reserve is used up. */
  release(): boolean;
}

export const noDiskReserve: DiskReserve = { release: () => false };
