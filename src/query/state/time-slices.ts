// Schedules requests on the thread. All run in slices. A request that has used several slices pauses at the end of each if
// requests with fewer slices run: a short request takes several turns of the event loop, and would otherwise wait for a slice in each.
import type { Clock } from '#ports/clock.ts';

export interface RequestSlices {
  /** Call at the end of a slice; resolves when the request may continue. */
  pause(): Promise<void>;
  end(): void;
}

/** A request with at most this many slices is short. */
const shortSlicesMax = 2;
/** A long request pauses for at most a third of its time. */
const longPauseMs = 2;

export class TimeSlices {
  private readonly clock: Clock;
  private shortRequests = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  begin(): RequestSlices {
    let usedSlices = 0;
    let isShort = true;
    this.shortRequests++;
    const countAsLong = (): void => {
      if (isShort) this.shortRequests--;
      isShort = false;
    };
    return {
      pause: () => {
        if (++usedSlices > shortSlicesMax) countAsLong();
        return new Promise((resolve) => {
          if (!isShort && this.shortRequests > 0) this.clock.after(longPauseMs, resolve);
          else this.clock.soon(resolve);
        });
      },
      end: countAsLong,
    };
  }
}
