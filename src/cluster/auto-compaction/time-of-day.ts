import type { TimeOfDay } from './compact-when.ts';

/** In the time zone of the process, also on days when clocks change. */
export function localTimeOfDay(wallMs: number): TimeOfDay {
  const at = new Date(wallMs);
  return { hour: at.getHours(), minute: at.getMinutes() };
}
