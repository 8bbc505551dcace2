// Rows of system:active_requests, system:completed_requests and system:prepareds. They never contain values of parameters.
import type { Clock } from '#ports/clock.ts';
import type { PlainRow } from '../query.contract.ts';
import { durationText } from '../request/duration.ts';
import type { ActiveRequest } from '../state/active-requests.ts';
import type { CompletedRequest, EndedRequest } from '../state/completed-requests.ts';
import { type PreparedEntry, shownNameOf } from '../state/prepared-cache.ts';
import { shownMessage, shownStatement } from './without-passwords.ts';

const timeText = (ms: number): string => new Date(ms).toISOString();

/** The members of active and of completed requests. */
function common(active: EndedRequest) {
  const { request, outcome } = active;
  const phases = [...(outcome?.phases ?? [])];
  const hasPhases = phases.length > 0;
  return {
    requestId: active.id,
    requestTime: timeText(active.requestTimeMs),
    scanConsistency: request?.consistency === 'not_bounded' ? 'unbounded' : request?.consistency,
    clientContextID: request?.clientContextId ?? undefined,
    statement: request?.statement === null ? undefined : shownStatement(request?.statement ?? ''),
    statementType: active.kind ?? undefined,
    queryContext: request?.queryContextText === '' ? undefined : request?.queryContextText,
    preparedName: active.preparedName ?? undefined,
    preparedText: active.preparedText === null ? undefined : shownStatement(active.preparedText),
    users: active.users.join(',') || undefined,
    remoteAddr: active.remoteAddress,
    userAgent: active.userAgent || undefined,
    phaseTimes: hasPhases
      ? Object.fromEntries(phases.map(([name, { ms }]) => [name, durationText(ms)]))
      : undefined,
    phaseCounts: hasPhases ? phaseFigures(phases, 'items') : undefined,
    phaseOperators: hasPhases ? phaseFigures(phases, 'operators') : undefined,
    usedMemory: outcome?.usedBytes || undefined,
    mutations: outcome?.mutations || undefined,
  };
}

function phaseFigures(
  phases: readonly (readonly [string, { items: number; operators: number }])[],
  name: 'items' | 'operators',
) {
  return Object.fromEntries(
    phases.filter(([, phase]) => phase[name] > 0).map(([phase, all]) => [phase, all[name]]),
  );
}

export function activeRow(active: ActiveRequest, clock: Clock): PlainRow {
  const nowMs = clock.monotonicMs();
  const value = {
    ...common(active),
    state: active.state,
    elapsedTime: durationText(nowMs - active.receivedMs),
    executionTime: durationText(active.executionStartMs === 0 ? 0 : nowMs - active.executionStartMs),
  };
  return { id: active.id, value };
}

export function completedRow({ active, elapsedMs, serviceMs }: CompletedRequest): PlainRow {
  const { errors } = active;
  const statement = active.preparedText ?? active.request?.statement ?? '';
  const value = {
    ...common(active),
    state: active.state,
    elapsedTime: durationText(elapsedMs),
    serviceTime: durationText(serviceMs),
    resultCount: active.rows.count,
    resultSize: active.rows.bytes,
    errorCount: errors.length,
    errors:
      errors.length > 0
        ? errors.map(({ code, msg }) => ({ code, msg: shownMessage(msg, statement) }))
        : undefined,
  };
  return { id: active.id, value };
}

export function preparedRow(entry: PreparedEntry): PlainRow {
  const { uses, lastUsedMs, elapsedMs, serviceMs } = entry;
  const name = shownNameOf(entry);
  const statement = shownStatement(entry.text);
  // The plan contains the text unmasked.
  const showsPlan = statement === entry.text && entry.encodedPlan !== '';
  const value = {
    name,
    namespace: 'default',
    statement,
    uses,
    encoded_plan: showsPlan ? entry.encodedPlan : undefined,
    // As in published servers of 7.1.
    featuresControl: 76,
    indexApiVersion: 4,
    queryContext: entry.queryContext || undefined,
    ...(uses > 0 && {
      lastUse: timeText(lastUsedMs),
      avgElapsedTime: durationText(elapsedMs / uses),
      avgServiceTime: durationText(serviceMs / uses),
      minElapsedTime: durationText(entry.shortestMs),
      maxElapsedTime: durationText(entry.longestMs),
      minServiceTime: durationText(entry.shortestServiceMs),
      maxServiceTime: durationText(entry.longestServiceMs),
    }),
  };
  return { id: name, value };
}
