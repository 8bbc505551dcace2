// The member `profile` of an answer: what the phases of a statement took, and with `timings` its operators.
import type { Execution } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { durationText } from '../request/duration.ts';

interface ProfileInput {
  readonly level: 'phases' | 'timings';
  readonly startedMs: number;
  readonly host: string;
  readonly textOf: (value: Value) => string;
}

type Figure = 'ms' | 'items' | 'operators';

export function profileOf(execution: Execution, { level, startedMs, host, textOf }: ProfileInput): string {
  const phases = [...execution.outcome.phases];
  const by = (figure: Figure) =>
    Object.fromEntries(
      phases
        .filter(([, phase]) => figure === 'ms' || phase[figure] > 0)
        .map(([name, phase]) => [name, figure === 'ms' ? durationText(phase.ms) : phase[figure]]),
    );
  const plain = JSON.stringify({
    phaseTimes: by('ms'),
    phaseCounts: by('items'),
    phaseOperators: by('operators'),
    requestTime: new Date(startedMs).toISOString(),
    servicingHost: host,
  });
  if (level === 'phases') return plain;
  return `${plain.slice(0, -1)},"executionTimings":${textOf(execution.timings())}}`;
}
