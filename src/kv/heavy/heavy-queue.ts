// The queue of heavy work: one job runs at a time. Users are served round robin, so that no user waits for all jobs of another.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { HeavyJob, HeavyOwner, HeavyResult, HeavyWork } from './jobs.ts';

/** Runs a job, in another thread or later in this one. */
export interface HeavyPerformer {
  perform(job: HeavyJob): Promise<HeavyResult>;
  stop(): Promise<void>;
}

/** Limits of the documents and values in queued jobs. */
const bytesMax = { perUser: 128 * 1024 * 1024, total: 512 * 1024 * 1024 };

const bytesOf = (job: HeavyJob): number =>
  job.kind === 'validate' ? job.parts.reduce((sum, part) => sum + part.length, 0) : job.document.value.length;

interface Waiting {
  readonly owner: HeavyOwner;
  readonly job: HeavyJob;
  readonly answer: Deferred<HeavyResult>;
}

export class HeavyQueue implements HeavyWork {
  private readonly performer: HeavyPerformer;
  /** The first user is served next. */
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
    const waitingOfUser = this.byUser.get(owner.user) ?? [];
    waitingOfUser.push({ owner, job, answer });
    this.byUser.set(owner.user, waitingOfUser);
    void this.work();
    return answer.promise;
  }

  async stop(): Promise<void> {
    await this.performer.stop();
  }

  /** Never rejects: each error belongs to one job, which gets it. */
  private async work(): Promise<void> {
    if (this.isBusy) return;
    this.isBusy = true;
    for (let next = this.nextJob(); next !== null; next = this.nextJob()) {
      const { answer, job, owner } = next;
      try {
        answer.resolve(await this.performer.perform(job));
      } catch (error) {
        // Also when no thread can be started for the job: the next one tries again.
        answer.reject(error as Error);
      }
      this.count(owner.user, -bytesOf(job));
    }
    this.isBusy = false;
  }

  private count(user: string, bytes: number): void {
    this.bytes += bytes;
    const ofUser = (this.bytesByUser.get(user) ?? 0) + bytes;
    if (ofUser > 0) this.bytesByUser.set(user, ofUser);
    else this.bytesByUser.delete(user);
  }

  /** Takes the next job whose connection is still open; null: there is none. */
  private nextJob(): Waiting | null {
    for (const [user, waitingOfUser] of this.byUser) {
      this.byUser.delete(user);
      const next = waitingOfUser.shift();
      if (waitingOfUser.length > 0) this.byUser.set(user, waitingOfUser);
      if (next === undefined) continue;
      if (!next.owner.isGone()) return next;
      this.count(user, -bytesOf(next.job));
      next.answer.reject(new Error('the connection of the request is closed'));
    }
    return null;
  }
}
