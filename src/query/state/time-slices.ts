// Which requests give the thread to others, and for how long. All run in slices. One that has had more than a few lets those that had
// fewer do what they wait for: a short request takes several turns of the event loop, and would else wait for a slice in each.
import type { Clock } from '#ports/clock.ts';

export interface RequestSlices {
  /** At the end of a slice: resolves when the request may go on. */
  pause(): Promise<void>;
  end(): void;
}

/** A request with so many slices behind it is short. */
const fewSlices = 2;
/** A long request gives up a third of its time at most. */
const givenMs = 2;

export class TimeSlices {
  private readonly clock: Clock;
  private short = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  begin(): RequestSlices {
    let used = 0;
    let isShort = true;
    this.short++;
    const leaveShort = (): void => {
      if (isShort) this.short--;
      isShort = false;
    };
    return {
      pause: () => {
        if (++used > fewSlices) leaveShort();
        return new Promise((resolve) => {
          if (!isShort && this.short > 0) this.clock.after(givenMs, resolve);
          else this.clock.soon(resolve);
        });
      },
      end: leaveShort,
    };
  }
}
