// Heavy work waits here: one piece is done at a time, and users get their turn one after the other, so that nobody waits for
// all that another user sends.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { HeavyJob, HeavyOwner, HeavyResult, HeavyWork } from './jobs.ts';

/** Does the work, in another thread or later. */
export interface HeavyPerformer {
  perform(job: HeavyJob): Promise<HeavyResult>;
  stop(): Promise<void>;
}

/** Of copies of documents, and values, that wait for their turn. */
const bytesMax = { perUser: 128 * 1024 * 1024, total: 512 * 1024 * 1024 };

const bytesOf = (job: HeavyJob): number =>
  job.kind === 'judge' ? job.bytes.length : job.document.value.length;

interface Waiting {
  readonly owner: HeavyOwner;
  readonly job: HeavyJob;
  readonly answer: Deferred<HeavyResult>;
}

export class HeavyQueue implements HeavyWork {
  private readonly performer: HeavyPerformer;
  /** In the order of their turns. */
  private readonly byUser = new Map<string, Waiting[]>();
  private readonly bytesByUser = new Map<string, number>();
  private bytes = 0;
  private isBusy = false;

  constructor(performer: HeavyPerformer) {
    this.performer = performer;
  }

  hasRoom(user: string, bytes: number): boolean {
    return (
      (this.bytesByUser.get(user) ?? 0) + bytes <= bytesMax.perUser && this.bytes + bytes <= bytesMax.total
    );
  }

  run(owner: HeavyOwner, job: HeavyJob): Promise<HeavyResult> {
    const answer = deferred<HeavyResult>();
    this.count(owner.user, bytesOf(job));
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
      const { answer, job, owner } = next;
      await this.performer.perform(job).then(answer.resolve, answer.reject);
      this.count(owner.user, -bytesOf(job));
    }
    this.isBusy = false;
  }

  private count(user: string, bytes: number): void {
    this.bytes += bytes;
    const own = (this.bytesByUser.get(user) ?? 0) + bytes;
    if (own > 0) this.bytesByUser.set(user, own);
    else this.bytesByUser.delete(user);
  }

  private take(): Waiting | null {
    for (const [user, own] of this.byUser) {
      this.byUser.delete(user);
      const next = own.shift();
      if (own.length > 0) this.byUser.set(user, own);
      if (next === undefined) continue;
      if (!next.owner.isGone()) return next;
      this.count(user, -bytesOf(next.job));
      next.answer.reject(new Error('nobody waits for it'));
    }
    return null;
  }
}
