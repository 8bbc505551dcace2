// Changes that let space be freed find room on a full disk: of what is held back for them, a piece at a time.
import { UnwritableError } from '#base/unwritable-error.ts';
import type { SpareRoom } from '#ports/spare-room.ts';

/** `act` changes nothing when it fails, so that it can be tried again. */
export async function inSpareRoom<T>(spareRoom: SpareRoom | undefined, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnwritableError) || spareRoom?.giveUp() !== true) throw error;
    }
  }
}
