// Runs changes that free space; on a full disk it releases the reserved space, a part at a time.
import { UnwritableError } from '#base/unwritable-error.ts';
import type { SpareRoom } from '#ports/spare-room.ts';

/** `act` must change nothing if it fails, since it is retried. */
export async function inSpareRoom<T>(spareRoom: SpareRoom | undefined, act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnwritableError) || spareRoom?.release() !== true) throw error;
    }
  }
}
