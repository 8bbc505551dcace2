// The last slow requests up to limits of number and bytes, newest last. Of a request only what its row shows is kept.
import type { QueryRequest } from '../request/query-request.ts';
import type { ActiveRequest } from './active-requests.ts';

export interface EndedRequest extends Omit<ActiveRequest, 'cancel' | 'request'> {
  readonly request: Pick<
    QueryRequest,
    'clientContextId' | 'consistency' | 'queryContextText' | 'statement'
  > | null;
}

export interface CompletedRequest {
  readonly active: EndedRequest;
  /** The time from the arrival of the request to its end. */
  readonly elapsedMs: number;
  /** From the start of its statement to its end, without the wait for a free place; 0: it never started. */
  readonly serviceMs: number;
}

/** The limit of the memory of all stored requests, estimated with two bytes a character. */
export const completedBytesMax = 32 << 20;
/** The estimated memory of a request apart from its texts, and of each of its phases. */
const ownBytes = 1024;
const phaseBytes = 128;

interface SizedRequest {
  readonly completed: CompletedRequest;
  readonly bytes: number;
}

export class CompletedRequests {
  private readonly byId = new Map<string, SizedRequest>();
  private bytes = 0;

  /** `limit` 0 keeps none. */
  add({ active, elapsedMs, serviceMs }: CompletedRequest, limit: number): void {
    if (limit <= 0) return;
    const ended = endedRequest(active);
    const bytes = bytesOf(ended);
    if (bytes > completedBytesMax) return;
    this.delete(ended.id);
    this.byId.set(ended.id, { completed: { active: ended, elapsedMs, serviceMs }, bytes });
    this.bytes += bytes;
    for (const oldest of this.byId.keys()) {
      if (this.byId.size <= limit && this.bytes <= completedBytesMax) return;
      this.delete(oldest);
    }
  }

  find(id: string): CompletedRequest | undefined {
    return this.byId.get(id)?.completed;
  }

  delete(id: string): boolean {
    this.bytes -= this.byId.get(id)?.bytes ?? 0;
    return this.byId.delete(id);
  }

  all(): CompletedRequest[] {
    return [...this.byId.values()].map(({ completed }) => completed);
  }
}

/** Without the values of parameters, the plan, the answer and the connection, which a request holds. */
function endedRequest(active: EndedRequest): EndedRequest {
  const { request, outcome, errors, rows } = active;
  return {
    id: active.id,
    request: request && {
      clientContextId: request.clientContextId,
      consistency: request.consistency,
      queryContextText: request.queryContextText,
      statement: request.statement,
    },
    users: active.users,
    remoteAddress: active.remoteAddress,
    userAgent: active.userAgent,
    requestTimeMs: active.requestTimeMs,
    receivedMs: active.receivedMs,
    executionStartMs: active.executionStartMs,
    state: active.state,
    kind: active.kind,
    preparedName: active.preparedName,
    preparedText: active.preparedText,
    rows: { ...rows },
    outcome: outcome && {
      mutations: outcome.mutations,
      usedBytes: outcome.usedBytes,
      phases: outcome.phases,
    },
    errors: errors.map(({ code, msg }) => ({ code, msg })),
  };
}

function bytesOf({
  request,
  users,
  userAgent,
  preparedName,
  preparedText,
  outcome,
  errors,
}: EndedRequest): number {
  const texts = [
    request?.statement,
    request?.clientContextId,
    request?.queryContextText,
    userAgent,
    preparedName,
    preparedText,
    ...users,
    ...errors.map(({ msg }) => msg),
  ];
  const characters = texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
  return ownBytes + phaseBytes * (outcome?.phases.size ?? 0) + 2 * characters;
}
