// The last slow requests up to a limit, newest last.
import type { ActiveRequest } from './active-requests.ts';

export interface CompletedRequest {
  readonly active: ActiveRequest;
  /** From the arrival of the request to its end. */
  readonly elapsedMs: number;
  /** From the start of its statement to its end, without the wait for a free place; 0: it never started. */
  readonly serviceMs: number;
}

export class CompletedRequests {
  private readonly byId = new Map<string, CompletedRequest>();

  /** `limit` 0 keeps none. */
  add(completed: CompletedRequest, limit: number): void {
    if (limit <= 0) return;
    this.byId.set(completed.active.id, completed);
    for (const oldest of this.byId.keys()) {
      if (this.byId.size <= limit) return;
      this.byId.delete(oldest);
    }
  }

  find(id: string): CompletedRequest | undefined {
    return this.byId.get(id);
  }

  delete(id: string): boolean {
    return this.byId.delete(id);
  }

  all(): CompletedRequest[] {
    return [...this.byId.values()];
  }
}
