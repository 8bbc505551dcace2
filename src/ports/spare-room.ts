// Room on the disk that is held back for changes that let space be freed.

export interface SpareRoom {
  /** Gives a piece up, for a change that comes at once. False when there is nothing left. */
  giveUp(): boolean;
}

export const noSpareRoom: SpareRoom = { giveUp: () => false };
