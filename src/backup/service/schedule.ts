// When the tasks of a plan run, in the local time of this machine.
import { periodUnits, type Schedule, weekdayPeriods } from './backup-state.ts';

const minuteMs = 60_000;
const unitMs = { MINUTES: minuteMs, HOURS: 60 * minuteMs } as const;
const unitDays = { DAYS: 1, WEEKS: 7 } as const;

/** The first run of a task whose schedule begins now. */
export function firstRun(schedule: Schedule, nowMs: number): number {
  const { period, time } = schedule;
  const weekday = (weekdayPeriods as readonly string[]).indexOf(period);
  if (weekday >= 0) return nextAtTimeOfDay(nowMs, time ?? '00:00', weekday);
  if (time !== undefined) return nextAtTimeOfDay(nowMs, time, null);
  return later(schedule, nowMs, 1);
}

/** The first run later than now, counted from the run at `previousMs`: runs that were missed in between are left out. */
export function runAfter(schedule: Schedule, previousMs: number, nowMs: number): number {
  const stepMs = later(schedule, previousMs, 1) - previousMs;
  // A step of days has an hour more or less where the clocks change: begin a step early.
  let steps = Math.max(1, Math.floor((nowMs - previousMs) / stepMs) - 1);
  while (later(schedule, previousMs, steps) <= nowMs) steps++;
  return later(schedule, previousMs, steps);
}

/** False if `dueMs` is later than the next run of the schedule can be. One more hour is allowed for the end of summer time. */
export function isPlausible(schedule: Schedule, dueMs: number, nowMs: number): boolean {
  const latestMs = Math.max(later(schedule, nowMs, 1), firstRun(schedule, nowMs));
  return dueMs <= latestMs + unitMs.HOURS;
}

/** The time after this number of steps of the schedule from `fromMs`. */
function later({ period, frequency }: Schedule, fromMs: number, steps: number): number {
  const count = frequency * steps;
  if (period === 'MINUTES' || period === 'HOURS') return fromMs + count * unitMs[period];
  const days = isUnitOfDays(period) ? unitDays[period] : unitDays.WEEKS;
  return daysLater(fromMs, count * days);
}

const isUnitOfDays = (period: string): period is keyof typeof unitDays => Object.hasOwn(unitDays, period);

/** At the same time of day. */
function daysLater(fromMs: number, days: number): number {
  const date = new Date(fromMs);
  date.setDate(date.getDate() + days);
  return date.getTime();
}

/** The next moment after `fromMs` with this time of day, and this weekday unless it is null. */
function nextAtTimeOfDay(fromMs: number, time: string, weekday: number | null): number {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  const date = new Date(fromMs);
  date.setHours(hours, minutes, 0, 0);
  while (date.getTime() <= fromMs || (weekday !== null && date.getDay() !== weekday)) {
    date.setDate(date.getDate() + 1);
    date.setHours(hours, minutes, 0, 0);
  }
  return date.getTime();
}

/** RFC 3339 with the offset of local time from UTC. */
export function localTimeText(ms: number): string {
  const offset = -new Date(ms).getTimezoneOffset();
  const local = new Date(ms + offset * minuteMs).toISOString().slice(0, -1);
  if (offset === 0) return `${local}Z`;
  const two = (value: number): string => String(value).padStart(2, '0');
  const distance = Math.abs(offset);
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(distance / 60))}:${two(distance % 60)}`;
}

/** The valid periods of a schedule. */
export const periods: readonly string[] = [...periodUnits, ...weekdayPeriods];
