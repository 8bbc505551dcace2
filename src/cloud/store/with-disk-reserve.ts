// Runs changes that free space; on a full disk it releases the reserved space, a part at a time.
import { UnwritableError } from '#base/unwritable-error.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';

/** `act` must change nothing if it fails, since it is retried. */
export async function withDiskReserve<T>(
  diskReserve: DiskReserve | undefined,
  act: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof UnwritableError) || diskReserve?.release() !== true) throw error;
    }
  }
}
