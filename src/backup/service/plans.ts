// Plans: the predefined ones, and the form in which the API reads and shows them.

import type { Plan, PlanTask, PlanTaskType, Schedule } from './backup-state.ts';
import { BodyError, bodyField, type FieldValue, readJsonBody } from './body-fields.ts';
import { periods } from './schedule.ts';

const planServices = ['data', 'gsi', 'views', 'ft', 'eventing', 'cbas', 'cbq'] as const;
const tasksMax = 100;
export const plansMax = 200;

const backup = (name: string, schedule: Schedule, isFull = false): PlanTask => ({
  name,
  type: 'BACKUP',
  isFull,
  schedule,
  days: null,
});
const merge = (name: string, schedule: Schedule, newest: number, oldest: number): PlanTask => ({
  name,
  type: 'MERGE',
  isFull: false,
  schedule,
  days: { newest, oldest },
});
const weekly = (period: Schedule['period'], time: string): Schedule => ({ frequency: 1, period, time });

const predefined: readonly Plan[] = [
  {
    name: '_daily_backups',
    description:
      'A full backup each Monday and an incremental one on each other day, merged by week and by four weeks.',
    services: null,
    isPredefined: true,
    tasks: [
      backup('backup_monday_full', weekly('MONDAY', '22:00'), true),
      backup('backup_tuesday', weekly('TUESDAY', '22:00')),
      backup('backup_wednesday', weekly('WEDNESDAY', '22:00')),
      backup('backup_thursday', weekly('THURSDAY', '22:00')),
      backup('backup_friday', weekly('FRIDAY', '22:00')),
      backup('backup_saturday', weekly('SATURDAY', '22:00')),
      backup('backup_sunday', weekly('SUNDAY', '22:00')),
      merge('merge_week', weekly('SUNDAY', '23:20'), 0, 6),
      merge('merge_4_weeks', { frequency: 28, period: 'DAYS', time: '23:40' }, 0, 27),
    ],
  },
  {
    name: '_hourly_backups',
    description: 'An incremental backup each hour, merged by day, by week and by four weeks.',
    services: null,
    isPredefined: true,
    tasks: [
      backup('backup_hourly', { frequency: 1, period: 'HOURS' }),
      merge('merge_day', { frequency: 1, period: 'DAYS', time: '00:30' }, 1, 1),
      merge('merge_week', weekly('SUNDAY', '23:20'), 1, 7),
      merge('merge_4_weeks', { frequency: 28, period: 'DAYS', time: '23:40' }, 1, 28),
    ],
  },
];

export const isPredefined = (name: string): boolean => predefined.some((plan) => plan.name === name);

export const planOf = (plans: Readonly<Record<string, Plan>>, name: string): Plan | undefined =>
  predefined.find((plan) => plan.name === name) ?? (Object.hasOwn(plans, name) ? plans[name] : undefined);

export const allPlans = (plans: Readonly<Record<string, Plan>>): Plan[] =>
  [...predefined, ...Object.values(plans)].sort((a, b) => (a.name < b.name ? -1 : 1));

const daysAgoMax = 10_000;
/** Days before today. */
export const mergeOffset = bodyField.integer(0, daysAgoMax);
const days = bodyField.object({ offset_start: mergeOffset, offset_end: mergeOffset });
const scheduleField = bodyField.object({
  job_type: bodyField.optional(bodyField.oneOf(['BACKUP', 'MERGE'])),
  frequency: bodyField.integer(1, 200),
  period: bodyField.oneOf(periods),
  time: bodyField.optional(bodyField.text(/^$|^([01]\d|2[0-3]):[0-5]\d$/, 'a time from 00:00 to 23:59')),
});
const taskField = bodyField.object({
  name: bodyField.text(/^[0-9A-Za-z][0-9A-Za-z_-]{0,49}$/, 'a name of 1 to 50 letters, digits, _ and -'),
  task_type: bodyField.oneOf(['BACKUP', 'MERGE']),
  schedule: scheduleField,
  full_backup: bodyField.optional(bodyField.boolean),
  options: bodyField.optional(days),
  merge_options: bodyField.optional(days),
});
const planFields = {
  name: bodyField.optional(bodyField.text(/^.{0,100}$/s, 'a text of at most 100 characters')),
  description: bodyField.optional(bodyField.text(/^.{0,140}$/s, 'a text of at most 140 characters')),
  services: bodyField.optional(bodyField.list(planServices.length, bodyField.oneOf(planServices))),
  default: bodyField.optional(bodyField.boolean),
  tasks: bodyField.optional(bodyField.list(tasksMax, taskField)),
};

/** @throws BodyError that names the field */
export function readPlan(body: Buffer, name: string): Plan {
  const sent = readJsonBody(body, planFields);
  if (sent.name !== undefined && sent.name !== '' && sent.name !== name)
    throw new BodyError(`name: must be that of the path, "${name}"`);
  if (sent.default === true)
    throw new BodyError('default: must be false: only the predefined plans are default ones');
  const tasks = (sent.tasks ?? []).map(readTask);
  const names = tasks.map((task) => task.name);
  const repeated = names.find((task, index) => names.indexOf(task) < index);
  if (repeated !== undefined) throw new BodyError(`tasks: two tasks have the name "${repeated}"`);
  if (tasks.length > 0 && !tasks.some(({ type }) => type === 'BACKUP'))
    throw new BodyError('tasks: a plan with a merge needs a backup too');
  const services = sent.services === undefined || sent.services.length === 0 ? null : sent.services;
  if (services !== null && !services.includes('data'))
    throw new BodyError('services: must contain data: documents are part of every backup');
  return { name, description: sent.description ?? '', services, isPredefined: false, tasks };
}

function readTask(sent: FieldValue<typeof taskField>, index: number): PlanTask {
  const wrong = (text: string) => new BodyError(`tasks.${index}.${text}`);
  const { name, task_type: type, schedule, full_backup: isFull = false } = sent;
  const { job_type = type, frequency, period, time } = schedule;
  if (job_type !== type) throw wrong(`schedule.job_type: must be the task_type, ${type}`);
  if (type === 'MERGE' && isFull) throw wrong('full_backup: only a backup can be full');
  const range = sent.options ?? sent.merge_options;
  if (type === 'BACKUP' && range !== undefined) throw wrong('options: only a merge has offsets');
  const { offset_start: newest = 0, offset_end: oldest = 0 } = range ?? {};
  if (newest > oldest) throw wrong('options: offset_start must not be above offset_end');
  return {
    name,
    type: type as PlanTaskType,
    isFull,
    schedule: {
      frequency,
      period: period as Schedule['period'],
      ...(time !== undefined && time !== '' && { time }),
    },
    days: type === 'MERGE' ? { newest, oldest: range === undefined ? daysAgoMax : oldest } : null,
  };
}

export const planRecord = ({ name, description, services, isPredefined: isDefault, tasks }: Plan) => ({
  name,
  ...(description !== '' && { description }),
  services,
  default: isDefault,
  tasks: tasks.map(taskRecord),
});

function taskRecord({ name, type, isFull, schedule, days: range }: PlanTask) {
  const offsets = range && { offset_start: range.newest, offset_end: range.oldest };
  return {
    name,
    task_type: type,
    schedule: { job_type: type, ...schedule },
    options: offsets,
    ...(offsets && { merge_options: offsets }),
    full_backup: isFull,
  };
}
