import type { TimeOfDay } from './compact-when.ts';

/** In the time zone that the process runs in, as the clock is set there: also on days when it is put forward or back. */
export function localTimeOfDay(wallMs: number): TimeOfDay {
  const at = new Date(wallMs);
  return { hour: at.getHours(), minute: at.getMinutes() };
}
