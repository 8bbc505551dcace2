// The member `profile` of an answer: times of the phases of a statement, with `timings` also those of its operators.
import type { Execution } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { durationText } from '../request/duration.ts';

interface ProfileInput {
  readonly level: 'phases' | 'timings';
  readonly startedMs: number;
  /** Times of the service's own phases; `run` is the time of all operators together and of sending the rows. */
  readonly ownMs: { readonly authorize: number; readonly plan: number; readonly run: number };
  readonly rows: number;
  readonly version: string;
  readonly host: string;
  readonly textOf: (value: Value) => string;
}

export function profileOf(execution: Execution, input: ProfileInput): string {
  const { level, startedMs, host, ownMs } = input;
  const phases = [...execution.outcome.phases];
  const figuresOf = (figure: 'items' | 'operators') =>
    Object.fromEntries(
      phases.filter(([, phase]) => phase[figure] > 0).map(([name, phase]) => [name, phase[figure]]),
    );
  const times = Object.entries({
    authorize: ownMs.authorize,
    plan: ownMs.plan,
    ...Object.fromEntries(phases.filter(([, { ms }]) => ms > 0).map(([name, { ms }]) => [name, ms])),
    run: ownMs.run,
  });
  const plain = JSON.stringify({
    phaseTimes: Object.fromEntries(times.map(([name, ms]) => [name, durationText(ms)])),
    phaseCounts: figuresOf('items'),
    phaseOperators: { authorize: 1, ...figuresOf('operators') },
    requestTime: new Date(startedMs).toISOString(),
    servicingHost: host,
  });
  if (level === 'phases') return plain;
  return `${plain.slice(0, -1)},"executionTimings":${timingsText(execution, input)}}`;
}

/** The plan's operators within those of the service, Authorize and Stream. */
function timingsText(execution: Execution, { ownMs, rows, version, textOf }: ProfileInput): string {
  const checked = JSON.stringify({ '#phaseSwitches': 2, servTime: durationText(ownMs.authorize) });
  const sent = JSON.stringify({ '#operator': 'Stream', '#stats': { '#itemsIn': rows, '#itemsOut': rows } });
  const plan = textOf(execution.timings());
  const children = plan === 'null' ? sent : `${plan},${sent}`;
  const child = `{"#operator":"Sequence","~children":[${children}]}`;
  const versions = JSON.stringify([version, version]);
  return `{"#operator":"Authorize","#stats":${checked},"~child":${child},"~versions":${versions}}`;
}
