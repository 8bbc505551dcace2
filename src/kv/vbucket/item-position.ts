// Where a key is in the index and in memory.

/**
 * Position of a key: filled by `locate`, owned by the caller that looks up, updated by the changes it is passed to, and valid
 * until another change. `address` is 0 when the key is not in memory.
 */
export interface ItemPosition {
  vb: number;
  hash: number;
  slot: number;
  address: number;
}

export const emptyPosition = (): ItemPosition => ({ vb: 0, hash: 0, slot: -1, address: 0 });

/** Points `position` at a slot of the index. Returns the address. */
export function setPosition(
  position: ItemPosition,
  vb: number,
  hash: number,
  slot: number,
  address: number,
): number {
  position.vb = vb;
  position.hash = hash;
  position.slot = slot;
  return (position.address = address);
}
