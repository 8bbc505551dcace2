// What remains of a request after its answer: the list of completed requests, the audit event and the figures.
import type { ActiveRequest } from '../state/active-requests.ts';
import type { QueryParts } from '../state/parts.ts';
import { countUse, type PreparedEntry } from '../state/prepared-cache.ts';
import type { RequestAnswer } from './request-answer.ts';
import { auditStatement } from './statement-audit.ts';

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
  const serviceMs = active.servedMs === 0 ? 0 : nowMs - active.servedMs;
  active.rows.count = writer.rows;
  active.rows.bytes = writer.bytes;
  if (settings.completedThresholdMs >= 0 && elapsedMs >= settings.completedThresholdMs)
    service.completed.add({ active, elapsedMs, serviceMs }, settings.completedLimit);
  const warnings = execution?.outcome.warnings.length ?? 0;
  auditStatement(service.deps, { active, elapsedMs, serviceMs, warnings });
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
