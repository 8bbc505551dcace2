// A clock on which a second passes between any two looks at it.
import { type Clock, realClock } from '#ports/clock.ts';

export function hastyClock(): Clock {
  let ms = 0;
  return { ...realClock, monotonicMs: () => (ms += 1_001) };
}
