// A clock that advances by a little more than a second with each reading.
import { type Clock, realClock } from '#ports/clock.ts';

export function advancingClock(): Clock {
  let ms = 0;
  return { ...realClock, monotonicMs: () => (ms += 1_001) };
}
