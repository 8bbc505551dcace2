// Counts REST requests by route, method and status, and measures the duration of their answers. Bounded by the number of
// routes, whatever clients request.
import { DurationHistogram, durationBounds } from '#base/duration-histogram.ts';

export interface MeteredRequest {
  /** The declared path; null for an unknown route. */
  path: string | null;
  method: string;
  status: number;
  scheme: 'http' | 'https';
  milliseconds: number;
}

export interface RequestCount {
  readonly code: string;
  readonly method: string;
  readonly path: string;
  readonly scheme: string;
  count: number;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'];

export class RequestMeter {
  readonly #counts = new Map<string, RequestCount>();
  readonly #times = new Map<string, DurationHistogram>();
  readonly totals = { entered: 0, left: 0, unauthenticated: 0, forbidden: 0 };

  started(): void {
    this.totals.entered++;
  }

  /** The request was answered or aborted. */
  ended(): void {
    this.totals.left++;
  }

  answered(request: MeteredRequest): void {
    const code = String(request.status);
    const method = methods.includes(request.method) ? request.method : 'other';
    const { scheme } = request;
    const key = `${code} ${method} ${scheme} ${request.path}`;
    const existing = this.#counts.get(key);
    if (existing) existing.count++;
    else this.#counts.set(key, { code, method, path: shownPath(request.path), scheme, count: 1 });
    this.#timesOf(method).add(request.milliseconds);
    if (request.status === 401) this.totals.unauthenticated++;
    if (request.status === 403) this.totals.forbidden++;
  }

  counts(): Iterable<RequestCount> {
    return this.#counts.values();
  }

  /** By method; the bounds are those of `base/duration-histogram.ts`. */
  *times(): Iterable<{ method: string; bounds: readonly number[]; counts: number[]; sum: number }> {
    for (const [method, times] of this.#times) yield { method, bounds: durationBounds, ...times.figures() };
  }

  #timesOf(method: string): DurationHistogram {
    const times = this.#times.get(method) ?? new DurationHistogram();
    this.#times.set(method, times);
    return times;
  }
}

/** With a star for each parameter. */
const shownPath = (path: string | null): string => path?.replaceAll(/:[^/]+/g, '*') ?? 'none';
