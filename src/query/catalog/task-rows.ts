// Rows of system:tasks_cache: sessions of ADVISOR. They do not contain the statements. In the published schema a task starts and stops when its
// session has collected statements, and `delay` is the time for which the session collects.

import type { PlainRow } from '../query.contract.ts';
import { durationText } from '../request/duration.ts';
import type { AdvisorSession } from '../state/advisor-sessions.ts';
import type { QueryParts } from '../state/parts.ts';

export function taskRow({ deps }: QueryParts, session: AdvisorSession): PlainRow {
  const { id, name, options, submittedMs, state, endedMs, isRunning } = session;
  const value = {
    class: 'advisor',
    delay: durationText(options.durationMs),
    id,
    name,
    node: deps.node().name,
    startTime: isRunning ? undefined : timeText(endedMs),
    state,
    stopTime: isRunning ? undefined : timeText(endedMs),
    subClass: 'analyze',
    submitTime: timeText(submittedMs),
  };
  return { id, value };
}

export const taskRows = (service: QueryParts): PlainRow[] =>
  service.advisorSessions.all().map((session) => taskRow(service, session));

/** Ends a session that is running, and removes one that has ended, as published servers do. */
export function removeTask({ advisorSessions }: QueryParts, id: string): boolean {
  const session = advisorSessions.all().find((each) => each.id === id);
  if (session === undefined) return false;
  if (session.isRunning) session.end('cancelled');
  else advisorSessions.remove(session.name);
  return true;
}

const timeText = (ms: number): string => new Date(ms).toISOString();
