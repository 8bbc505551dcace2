// When the tasks of a plan run, in the local time of this machine.
import { periodUnits, type Schedule, weekdayPeriods } from './backup-state.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** When a task runs on a weekday without a time. */
const startOfDay = '00:00';
const unitMs = { MINUTES: minuteMs, HOURS: 60 * minuteMs } as const;
const unitDays = { DAYS: 1, WEEKS: 7 } as const;

/** The first run of a task whose schedule begins now. */
export function firstRun(schedule: Schedule, nowMs: number): number {
  const { period, time } = schedule;
  const weekday = (weekdayPeriods as readonly string[]).indexOf(period);
  if (weekday >= 0) return nextAtTimeOfDay(nowMs, time ?? startOfDay, weekday);
  if (time !== undefined) return nextAtTimeOfDay(nowMs, time, null);
  return later(schedule, nowMs, 1);
}

/** The first run later than now, counted from the run at `previousMs`: runs that were missed in between are left out. */
export function runAfter(schedule: Schedule, previousMs: number, nowMs: number): number {
  // Days have an hour more or less where the clocks change, and a run in that hour is at another time of day: begin early.
  let steps = Math.max(1, Math.floor((nowMs - previousMs - 2 * unitMs.HOURS) / stepMs(schedule)));
  while (later(schedule, previousMs, steps) <= nowMs) steps++;
  return later(schedule, previousMs, steps);
}

/** False if `dueMs` is later than the next run of the schedule can be. One more hour is allowed for the end of summer time. */
export function isPlausible(schedule: Schedule, dueMs: number, nowMs: number): boolean {
  const latestMs = Math.max(nowMs + stepMs(schedule), firstRun(schedule, nowMs));
  return dueMs <= latestMs + unitMs.HOURS;
}

/** The time after this number of steps of the schedule from `fromMs`. */
function later(schedule: Schedule, fromMs: number, steps: number): number {
  const { period, time } = schedule;
  if (isElapsed(period)) return fromMs + steps * stepMs(schedule);
  const timeOfDay = time ?? (isUnitOfDays(period) ? null : startOfDay);
  return daysLater(fromMs, (steps * stepMs(schedule)) / dayMs, timeOfDay);
}

/** The time from one run to the next, where no clocks change. */
function stepMs({ period, frequency }: Schedule): number {
  if (isElapsed(period)) return frequency * unitMs[period];
  return frequency * dayMs * (isUnitOfDays(period) ? unitDays[period] : unitDays.WEEKS);
}

const isElapsed = (period: string): period is keyof typeof unitMs => Object.hasOwn(unitMs, period);

const isUnitOfDays = (period: string): period is keyof typeof unitDays => Object.hasOwn(unitDays, period);

/** At this time of day; null: at that of `fromMs`, which may have been moved by an hour that the clocks left out. */
function daysLater(fromMs: number, days: number, time: string | null): number {
  const date = new Date(fromMs);
  date.setDate(date.getDate() + days);
  if (time !== null) setTimeOfDay(date, time);
  return date.getTime();
}

/** The next moment after `fromMs` with this time of day, and this weekday unless it is null. */
function nextAtTimeOfDay(fromMs: number, time: string, weekday: number | null): number {
  const date = new Date(fromMs);
  setTimeOfDay(date, time);
  while (date.getTime() <= fromMs || (weekday !== null && date.getDay() !== weekday)) {
    date.setDate(date.getDate() + 1);
    setTimeOfDay(date, time);
  }
  return date.getTime();
}

function setTimeOfDay(date: Date, time: string): void {
  const [hours, minutes] = time.split(':').map(Number) as [number, number];
  date.setHours(hours, minutes, 0, 0);
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
