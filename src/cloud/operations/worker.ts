// Carries operations out: leases one, runs its steps in order, records each, tries failed ones again with back-off.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { ClusterRow, OperationRow, Store } from '../store/tables.ts';
import type { OperationKind, OperationsStore } from './operations.store.ts';
import type { Plan } from './step.ts';

const pollMs = 500;
const atOnce = 4;
const renewMs = 5_000;
const backOffFirstMs = 200;
const backOffMaxMs = 5_000;
const errorCharacters = 500;

export interface WorkerOptions {
  store: Store;
  operations: OperationsStore;
  plans: Readonly<Record<OperationKind, Plan>>;
  home: string;
  /** Names this process among the owners of leases. */
  owner: string;
  clock: Clock;
  log: Log;
}

export class Worker {
  private readonly options: WorkerOptions;
  private readonly running = new Map<string, Promise<void>>();
  private timer: Timer | null = null;
  private looking = false;
  private stopped = false;

  constructor(options: WorkerOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    await this.options.operations.releaseAll(this.options.home);
    this.wake();
  }

  /** Something may be due: look now rather than at the next poll. */
  wake(): void {
    if (this.stopped || this.looking) return;
    this.timer?.cancel();
    this.looking = true;
    this.takeDue()
      .catch((error: Error) => this.options.log.error('operations.unreadable', { reason: error.message }))
      .finally(() => {
        this.looking = false;
        if (!this.stopped) this.timer = this.options.clock.after(pollMs, () => this.wake());
      });
  }

  /** Waits for the steps under way; what is left of their operations goes on at the next start. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    await Promise.allSettled(this.running.values());
  }

  private async takeDue(): Promise<void> {
    const { operations, home, owner } = this.options;
    for (const operation of await operations.due(home)) {
      if (this.running.size >= atOnce || this.stopped) return;
      if (this.running.has(operation.id) || !(await operations.claim(operation.id, owner))) continue;
      const run = this.carryOut(operation).catch((error: Error) =>
        this.options.log.error('operation.unrecorded', { operation: operation.id, reason: error.message }),
      );
      this.running.set(operation.id, run);
      void run.finally(() => {
        this.running.delete(operation.id);
        this.wake();
      });
    }
  }

  private async carryOut(operation: OperationRow): Promise<void> {
    const plan = this.options.plans[operation.kind as OperationKind];
    let at = plan.steps.findIndex(({ name }) => name === operation.step);
    while (at < plan.steps.length && !this.stopped) {
      if (!(await this.attempt(operation, plan, at))) return;
      at++;
    }
  }

  /** True when the step is done and recorded, so that the next may begin. */
  private async attempt(operation: OperationRow, plan: Plan, at: number): Promise<boolean> {
    const { operations, owner } = this.options;
    const step = plan.steps[at] as Plan['steps'][number];
    try {
      const cluster = await this.clusterOf(operation);
      if (cluster !== undefined) await this.renewing(operation, () => step.run(cluster));
    } catch (error) {
      await this.putOff(operation, plan, step.name, error as Error);
      return false;
    }
    const next = plan.steps[at + 1];
    operation.attempts = 0;
    const progress =
      next === undefined
        ? { state: 'done', owner: null }
        : { step: next.name, attempts: 0, last_error: null };
    return operations.record(operation.id, owner, progress);
  }

  private clusterOf(operation: OperationRow): Promise<ClusterRow | undefined> {
    const { store } = this.options;
    return store.selectFrom('clusters').selectAll().where('id', '=', operation.cluster_id).executeTakeFirst();
  }

  /** Keeps the lease while a long step runs. */
  private async renewing(operation: OperationRow, run: () => Promise<void>): Promise<void> {
    const { clock, operations, owner } = this.options;
    let timer: Timer;
    const renew = (): void => {
      timer = clock.after(renewMs, () => {
        operations.record(operation.id, owner, {}).then(renew, renew);
      });
    };
    renew();
    try {
      await run();
    } finally {
      timer!.cancel();
    }
  }

  private async putOff(operation: OperationRow, plan: Plan, step: string, error: Error): Promise<void> {
    const { clock, operations, owner, log } = this.options;
    const attempts = operation.attempts + 1;
    const last_error = error.message.slice(0, errorCharacters);
    const now: number = clock.wallMs();
    log.warn('operation.step_failed', {
      operation: operation.id,
      kind: operation.kind,
      step,
      attempts,
      reason: last_error,
    });
    const isLate = operation.deadline <= now;
    if (isLate) {
      const cluster = await this.clusterOf(operation);
      const ended = await operations.record(operation.id, owner, {
        state: 'failed',
        last_error,
        attempts,
        owner: null,
      });
      if (ended && cluster !== undefined) await plan.failed(cluster);
      return;
    }
    const wait = Math.min(backOffMaxMs, backOffFirstMs * 2 ** Math.min(attempts - 1, 10));
    await operations.record(operation.id, owner, {
      attempts,
      last_error,
      next_at: now + wait,
      owner: null,
      lease_until: 0,
    });
  }
}
