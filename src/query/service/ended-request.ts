// What remains of a request after its answer: the list of completed requests, the audit event and the counters.

import { statementEventOf } from '../audit.contract.ts';
import { shownStatement } from '../catalog/without-passwords.ts';
import type { ActiveRequest } from '../state/active-requests.ts';
import type { AdvisorSessions } from '../state/advisor-sessions.ts';
import type { QueryParts } from '../state/parts.ts';
import { countUse, type PreparedEntry } from '../state/prepared-cache.ts';
import { isAdvisable } from './advisor.ts';
import type { RequestAnswer } from './request-answer.ts';
import { auditStatement, reportRefusal } from './statement-audit.ts';

/** `prepared`: the cached statement that ran, or null. */
export function recordEnd(
  service: QueryParts,
  active: ActiveRequest,
  { request, writer, execution }: Pick<RequestAnswer, 'request' | 'writer' | 'execution'>,
  prepared: PreparedEntry | null,
): void {
  const { clock, settings } = service.deps;
  const nowMs = clock.monotonicMs();
  const elapsedMs = nowMs - active.receivedMs;
  // 0: the request ended before its execution began.
  const serviceMs = active.executionStartMs === 0 ? 0 : nowMs - active.executionStartMs;
  active.rows.count = writer.rows;
  active.rows.bytes = writer.bytes;
  if (settings.completedThresholdMs >= 0 && elapsedMs >= settings.completedThresholdMs)
    service.completed.add({ active, elapsedMs, serviceMs }, settings.completedLimit);
  if (service.advisorSessions.areCollecting) collect(service.advisorSessions, active, prepared, elapsedMs);
  const warnings = execution?.outcome.warnings.length ?? 0;
  auditStatement(service.deps, { active, elapsedMs, serviceMs, warnings });
  if (active.errors.length > 0)
    reportRefusal(service.deps, active, active.errors, statementEventOf(active.kind).words);
  if (prepared !== null) countUse(prepared, { endedMs: clock.wallMs(), elapsedMs, serviceMs });
  service.counters.completed(
    {
      kind: active.kind,
      consistency: request?.consistency ?? 'not_bounded',
      isPrepared: prepared !== null,
      isCancelled: active.state === 'cancelled' || active.state === 'closed',
      elapsedMs,
      serviceMs,
      rows: writer.rows,
      bytes: writer.bytes,
      errors: active.errors.length,
      warnings,
      mutations: execution?.outcome.mutations ?? 0,
      phases: execution?.outcome.phases ?? new Map(),
    },
    nowMs,
  );
}

const advisedKinds: ReadonlySet<string | null> = new Set(['SELECT', 'UPDATE', 'DELETE', 'MERGE']);

/** Passes a statement to the sessions of ADVISOR if ADVISE knows its kind and the statement does not call ADVISOR. */
function collect(
  sessions: AdvisorSessions,
  { request, users, kind }: ActiveRequest,
  prepared: PreparedEntry | null,
  elapsedMs: number,
): void {
  const text = prepared?.prepared.text ?? request?.statement ?? '';
  if (!advisedKinds.has(kind) || !isAdvisable(text) || /\badvisor\s*\(/i.test(text)) return;
  const queryContext = prepared?.queryContext ?? request?.queryContextText ?? '';
  sessions.add({ text: shownStatement(text), queryContext, users, elapsedMs });
}
