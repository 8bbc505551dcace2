// The running and queued requests, for the catalog and the administration.
import { LinkedList, type ListLink } from '#base/linked-list.ts';
import type { QueryRequest } from '../request/query-request.ts';

export type RequestState =
  | 'submitted'
  | 'running'
  | 'cancelled'
  | 'closed'
  | 'timeout'
  | 'completed'
  | 'fatal';

/** A request in progress; RequestRun updates it. */
export interface ActiveRequest {
  readonly id: string;
  /** null until the parameters of the request are read. */
  request: QueryRequest | null;
  users: readonly string[];
  readonly remoteAddress: string;
  readonly userAgent: string;
  /** When the request arrived (the published `requestTime`), in milliseconds since 1970. */
  readonly requestTimeMs: number;
  /** When the request arrived, by the monotonic clock. */
  readonly receivedMs: number;
  /** When its execution began, by the monotonic clock; 0 while the request is queued. */
  executionStartMs: number;
  state: RequestState;
  /** The kind of its statement; null until the statement is planned. */
  kind: string | null;
  /** null, as `preparedText` is, if the request runs no prepared statement. */
  preparedName: string | null;
  preparedText: string | null;
  readonly rows: { count: number; bytes: number };
  /** null until the statement runs. */
  outcome: { mutations: number; usedBytes: number; phases: ReadonlyMap<string, Phase> } | null;
  errors: readonly { code: number; msg: string }[];
  /** Cancels the request; its answer reports the reason. */
  readonly cancel: (reason: Error) => void;
}

type Arrived = Pick<
  ActiveRequest,
  'id' | 'remoteAddress' | 'userAgent' | 'requestTimeMs' | 'receivedMs' | 'cancel'
>;

/** A request that has arrived; its body has not been read. */
export const newRequest = (arrived: Arrived): ActiveRequest => ({
  ...arrived,
  request: null,
  users: [],
  executionStartMs: 0,
  state: 'submitted',
  kind: null,
  preparedName: null,
  preparedText: null,
  rows: { count: 0, bytes: 0 },
  outcome: null,
  errors: [],
});

interface Phase {
  operators: number;
  items: number;
  ms: number;
}

export class ActiveRequests {
  private readonly list = new LinkedList<ActiveRequest>();

  /** Returns the link to `remove`. */
  add(active: ActiveRequest): ListLink<ActiveRequest> {
    return this.list.add(active);
  }

  remove(link: ListLink<ActiveRequest>): void {
    this.list.remove(link);
  }

  find(id: string): ActiveRequest | undefined {
    return this.all().find((active) => active.id === id);
  }

  all(): ActiveRequest[] {
    return this.list.values();
  }

  get count(): number {
    return this.list.size;
  }
}
