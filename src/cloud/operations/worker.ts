// Runs operations: leases one, runs its steps in order, records each, retries failed steps with back-off.
import type { Clock, Timer } from '#ports/clock.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterRow, OperationRow, Store } from '../store/tables.ts';
import { withDiskReserve } from '../store/with-disk-reserve.ts';
import { type OperationKind, type OperationsStore, waitMaxMs } from './operations.store.ts';
import { type Plan, planOf } from './step.ts';

/** The longest and the shortest pause between polls. Another server may have added an operation for this home. */
const pollEveryMs = 2_000;
const pollPauseMinMs = 200;
const concurrentMax = 4;
/** How often a running step renews the lease of its operation. */
const renewEveryMs = 5_000;
const backOffFirstMs = 200;
/** A step is attempted at least this often, even after the deadline of its operation. */
const attemptsMin = 3;
/** A step is attempted at most this often, even before the deadline. */
const attemptsMax = 100;
const pruneEveryMs = 3_600_000;
const errorCharactersMax = 500;

export interface WorkerOptions {
  store: Store;
  operations: OperationsStore;
  plans: Readonly<Record<OperationKind, Plan>>;
  /** The `failed` of operations of unknown kinds. */
  unknownFailed: Plan['failed'];
  home: string;
  /** Identifies this process as the owner of leases. */
  owner: string;
  diskReserve?: DiskReserve;
  clock: Clock;
  log: Log;
}

/** An operation running in this process. */
interface Run {
  readonly clusterId: string;
  readonly cancellation: AbortController;
  readonly done: Promise<void>;
}

export class Worker {
  private readonly options: WorkerOptions;
  private readonly running = new Map<string, Run>();
  private timer: Timer | null = null;
  private isPolling = false;
  private isPollRequested = false;
  private isStoreUnreadable = false;
  private prunedAtMs = Number.NEGATIVE_INFINITY;
  private isStopped = false;

  constructor(options: WorkerOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    const { operations, plans, home } = this.options;
    await operations.takeOver(home);
    for (const [kind, { steps, resumeAt }] of Object.entries(plans)) {
      if (resumeAt === undefined) continue;
      const remainingSteps = steps.slice(steps.findIndex(({ name }) => name === resumeAt) + 1);
      const names = remainingSteps.map(({ name }) => name);
      await operations.resetSteps(home, kind as OperationKind, { from: names, to: resumeAt });
    }
    this.wake();
  }

  /** Polls now instead of at the next interval. */
  wake(): void {
    this.isPollRequested = true;
    if (this.isStopped || this.isPolling) return;
    this.timer?.cancel();
    this.isPolling = true;
    void this.poll().then((waitMs) => {
      this.isPolling = false;
      if (this.isStopped) return;
      if (this.isPollRequested) this.wake();
      else this.timer = this.options.clock.after(waitMs, () => this.wake());
    });
  }

  /** Aborts the running steps; their operations resume at the next start. */
  async stop(): Promise<void> {
    this.isStopped = true;
    this.timer?.cancel();
    const runs = [...this.running.values()];
    for (const { cancellation } of runs) cancellation.abort(new Error('the cloud stops'));
    await Promise.allSettled(runs.map(({ done }) => done));
  }

  /** Resolves with the milliseconds until the next poll. If the database is unavailable, logs that once and retries at each poll. */
  private async poll(): Promise<number> {
    try {
      while (this.isPollRequested && !this.isStopped) {
        this.isPollRequested = false;
        await this.startDue();
      }
      await this.prune();
      this.isStoreUnreadable = false;
      return await this.untilNext();
    } catch (error) {
      if (!this.isStoreUnreadable)
        this.options.log.error('operations.unreadable', { reason: (error as Error).message });
      this.isStoreUnreadable = true;
      return pollEveryMs;
    }
  }

  private async untilNext(): Promise<number> {
    const { operations, home, clock } = this.options;
    const nextAt = await operations.nextAt(home);
    return nextAt === null
      ? pollEveryMs
      : Math.min(pollEveryMs, Math.max(pollPauseMinMs, nextAt - clock.wallMs()));
  }

  private async prune(): Promise<void> {
    const nowMs = this.options.clock.monotonicMs();
    if (nowMs - this.prunedAtMs < pruneEveryMs) return;
    await this.options.operations.prune();
    this.prunedAtMs = nowMs;
  }

  private async startDue(): Promise<void> {
    const { operations, home, owner } = this.options;
    for (const operation of await operations.due(home, owner)) {
      if (this.isStopped) return;
      if (this.running.has(operation.id) || this.cancelOlderRun(operation)) continue;
      if (this.running.size >= concurrentMax) continue;
      if (await this.withDiskReserve(operation, () => operations.claim(operation.id, owner)))
        this.begin(operation);
    }
  }

  /** A cluster has one running operation at a time: an older one that was replaced is aborted first. */
  private cancelOlderRun({ cluster_id }: OperationRow): boolean {
    const older = [...this.running.values()].find(({ clusterId }) => clusterId === cluster_id);
    older?.cancellation.abort(new Error('another operation has taken the place of this one'));
    return older !== undefined;
  }

  private begin(operation: OperationRow): void {
    const cancellation = new AbortController();
    const done = this.runSteps(operation, cancellation)
      .catch((error: Error) =>
        this.options.log.error('operation.unrecorded', { operation: operation.id, reason: error.message }),
      )
      .finally(() => {
        this.running.delete(operation.id);
        this.wake();
      });
    this.running.set(operation.id, { clusterId: operation.cluster_id, cancellation, done });
  }

  private async runSteps(operation: OperationRow, cancellation: AbortController): Promise<void> {
    const plan = planOf(this.options.plans, operation.kind);
    let stepIndex = plan?.steps.findIndex(({ name }) => name === operation.step) ?? -1;
    // A newer version began it.
    if (plan === undefined || stepIndex < 0) {
      const unknown = plan === undefined ? `operation "${operation.kind}"` : `step "${operation.step}"`;
      const error = new Error(`this version has no ${unknown}`);
      return this.recordFailure(operation, plan, operation.step, error);
    }
    while (stepIndex < plan.steps.length && !cancellation.signal.aborted) {
      if (!(await this.attempt(operation, plan, stepIndex, cancellation))) return;
      stepIndex++;
    }
  }

  /** True if the step is done and recorded. */
  private async attempt(
    operation: OperationRow,
    plan: Plan,
    stepIndex: number,
    cancellation: AbortController,
  ): Promise<boolean> {
    const { operations, owner } = this.options;
    const step = plan.steps[stepIndex] as Plan['steps'][number];
    try {
      const cluster = await this.clusterOf(operation);
      if (cluster !== undefined)
        await this.whileRenewingLease(operation, cancellation, () =>
          this.withDiskReserve(operation, () => step.run(cluster, cancellation.signal)),
        );
    } catch (error) {
      if (!cancellation.signal.aborted) await this.recordFailure(operation, plan, step.name, error as Error);
      return false;
    }
    const next = plan.steps[stepIndex + 1];
    operation.attempts = 0;
    const progress = next === undefined ? { state: 'done', owner: null } : { step: next.name };
    const change = { ...progress, attempts: 0, last_error: null };
    return this.withDiskReserve(operation, () => operations.record(operation.id, owner, change));
  }

  /** Deletions may use the reserved disk space. */
  private withDiskReserve<T>({ kind }: OperationRow, act: () => Promise<T>): Promise<T> {
    return kind === 'delete' ? withDiskReserve(this.options.diskReserve, act) : act();
  }

  private clusterOf(operation: OperationRow): Promise<ClusterRow | undefined> {
    const { store } = this.options;
    return store.selectFrom('clusters').selectAll().where('id', '=', operation.cluster_id).executeTakeFirst();
  }

  /** Renews the lease during a long step, and cancels the step once another worker holds the lease or the operation has ended. */
  private async whileRenewingLease(
    operation: OperationRow,
    cancellation: AbortController,
    run: () => Promise<void>,
  ): Promise<void> {
    const { clock, operations, owner } = this.options;
    let over = false;
    let timer: Timer | null = null;
    const scheduleRenewal = (): void => {
      if (over) return;
      timer = clock.after(renewEveryMs, () => {
        // A database that cannot be reached says nothing about the lease: the step goes on.
        operations.record(operation.id, owner, {}).then((isHeld) => {
          if (isHeld) scheduleRenewal();
          else if (!over) cancellation.abort(new Error(leaseLost));
        }, scheduleRenewal);
      });
    };
    scheduleRenewal();
    try {
      await run();
    } finally {
      over = true;
      (timer as Timer | null)?.cancel();
    }
  }

  private async recordFailure(
    operation: OperationRow,
    plan: Plan | undefined,
    step: string,
    error: Error,
  ): Promise<void> {
    const { clock, operations, owner, log, unknownFailed } = this.options;
    const { id, kind, cluster_id } = operation;
    const failure = {
      attempts: operation.attempts + 1,
      last_error: error.message.slice(0, errorCharactersMax),
    };
    log.warn('operation.step_failed', { operation: id, kind, step, ...failure });
    const nowMs: number = clock.wallMs();
    const failed = plan?.failed ?? unknownFailed;
    if (isLastAttempt(operation.deadline, failure.attempts, nowMs))
      return operations.fail(id, owner, failure, (transaction) => failed(transaction, cluster_id));
    const waitMs = Math.min(waitMaxMs, backOffFirstMs * 2 ** Math.min(operation.attempts, 10));
    await operations.record(id, owner, { ...failure, next_at: nowMs + waitMs, owner: null, lease_until: 0 });
  }
}

const leaseLost = 'another worker holds the lease, or another operation replaced this one';

const isLastAttempt = (deadlineMs: number, attempts: number, nowMs: number): boolean =>
  (deadlineMs <= nowMs && attempts >= attemptsMin) || attempts >= attemptsMax;
