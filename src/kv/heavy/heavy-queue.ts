// Heavy work waits here: one piece is done at a time, and users get their turn one after the other, so that nobody waits for
// all that another user sends.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { HeavyJob, HeavyOwner, HeavyResult, HeavyWork } from './jobs.ts';

/** Does the work, in another thread or later. */
export interface HeavyPerformer {
  perform(job: HeavyJob): Promise<HeavyResult>;
  stop(): Promise<void>;
}

interface Waiting {
  readonly owner: HeavyOwner;
  readonly job: HeavyJob;
  readonly answer: Deferred<HeavyResult>;
}

export class HeavyQueue implements HeavyWork {
  private readonly performer: HeavyPerformer;
  /** In the order of their turns. */
  private readonly byUser = new Map<string, Waiting[]>();
  private isBusy = false;

  constructor(performer: HeavyPerformer) {
    this.performer = performer;
  }

  run(owner: HeavyOwner, job: HeavyJob): Promise<HeavyResult> {
    const answer = deferred<HeavyResult>();
    const own = this.byUser.get(owner.user) ?? [];
    own.push({ owner, job, answer });
    this.byUser.set(owner.user, own);
    void this.work();
    return answer.promise;
  }

  async stop(): Promise<void> {
    await this.performer.stop();
  }

  private async work(): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    for (let next = this.take(); next !== null; next = this.take()) {
      const { answer, job } = next;
      await this.performer.perform(job).then(answer.resolve, answer.reject);
    }
    this.isBusy = false;
  }

  private take(): Waiting | null {
    for (const [user, own] of this.byUser) {
      this.byUser.delete(user);
      const next = own.shift();
      if (own.length > 0) this.byUser.set(user, own);
      if (next === undefined) continue;
      if (!next.owner.isGone()) return next;
      next.answer.reject(new Error('nobody waits for it'));
    }
    return null;
  }
}
