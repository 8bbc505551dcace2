// Plans the long statement of a request. Such statements are planned one at a time, each in steps, between which other requests have the thread.
import type { WorkSteps } from '#base/steps.ts';
import type { Clock } from '#ports/clock.ts';
import { sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { PreparedStatement } from '#sqlpp/run/engine.ts';
import type { QueryRequest } from '../request/query-request.ts';
import { longLengthMin, type PlanningTurn } from '../state/long-statements.ts';
import type { QueryParts } from '../state/parts.ts';
import type { RequestSlices } from '../state/time-slices.ts';

/** After this time of planning, other requests have the thread. */
const stepsMs = 4;

/** Whether the request plans a long statement: its own, or a prepared one whose plan is outdated. */
export function plansLong({ prepared, planRevision }: QueryParts, request: QueryRequest): boolean {
  if (request.statement !== null) return request.statement.length >= longLengthMin;
  const entry = prepared.find(request.prepared ?? '', request.queryContextText);
  return (
    entry !== undefined && entry.prepared.text.length >= longLengthMin && entry.revision !== planRevision
  );
}

export class LongPlanning {
  private readonly service: QueryParts;
  private readonly signal: AbortSignal;
  private turn: PlanningTurn | null = null;

  constructor(service: QueryParts, signal: AbortSignal) {
    this.service = service;
    this.signal = signal;
  }

  /**
   * Waits until the statement has both its turn to be planned and a place of the service. If no place is free in its turn, it gives up
   * the turn, waits for a place, and then for its turn again, so that nobody holds the turn while waiting for a place.
   */
  async enterWithPlace(user: string): Promise<void> {
    const { admission } = this.service;
    await this.enter(user);
    if (admission.enterNow(user)) return;
    this.end();
    await this.waitForPlace(user);
    await this.enter(user).catch((error: unknown) => {
      admission.leave(user);
      throw error;
    });
  }

  /** Waits for a place of the service. @throws SqlError if too many requests wait */
  async waitForPlace(user: string): Promise<void> {
    const { admission } = this.service;
    if (!(await admission.enter(user, this.signal))) throw sqlErrorWith(1182, { isRetryable: true });
  }

  /** Waits for the turn. @throws SqlError if too many statements wait */
  private async enter(user: string): Promise<void> {
    this.turn = await this.service.longStatements.enter(user, this.signal);
    if (this.turn === null) throw sqlErrorWith(1182, { isRetryable: true });
  }

  /** Ends the turn, if there is one. */
  end(): void {
    this.turn?.end();
    this.turn = null;
  }

  /** Plans, and returns the plan and the milliseconds that it took. */
  async plan(
    planning: WorkSteps<PreparedStatement>,
    user: string,
    slices: Pick<RequestSlices, 'pause'> | null,
  ): Promise<{ prepared: PreparedStatement; tookMs: number }> {
    const { clock } = this.service.deps;
    if (this.turn === null) await this.enter(user);
    let tookMs = 0;
    let prepared: PreparedStatement | null | undefined;
    while (!prepared) {
      const startedMs = clock.monotonicMs();
      prepared = this.turn?.run(() => runSteps(planning, clock));
      tookMs += clock.monotonicMs() - startedMs;
      await slices?.pause();
      this.signal.throwIfAborted();
    }
    return { prepared, tookMs };
  }
}

/** Runs steps for some milliseconds; returns their result when all are done, else null. */
function runSteps<T>(steps: WorkSteps<T>, clock: Clock): T | null {
  const startedMs = clock.monotonicMs();
  do {
    const step = steps.next();
    if (step.done) return step.value;
  } while (clock.monotonicMs() - startedMs < stepsMs);
  return null;
}
