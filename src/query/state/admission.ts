// Limits the concurrent requests: further ones wait in a bounded queue, then they are refused.
import { type Deferred, deferred } from '#base/deferred.ts';

export class Admission {
  private running = 0;
  private readonly waiting: Deferred<void>[] = [];
  private readonly limits: () => { running: number; waiting: number };

  constructor(limits: () => { running: number; waiting: number }) {
    this.limits = limits;
  }

  get queued(): number {
    return this.waiting.length;
  }

  /** Whether the request may run without waiting: then the caller must call `leave`. Else it calls `enter`. */
  enterNow(): boolean {
    if (this.running >= this.limits().running) return false;
    this.running++;
    return true;
  }

  /** Resolves with false when the queue is full; rejects with the signal's reason. After true the caller must call `leave`. */
  async enter(signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted();
    if (this.enterNow()) return true;
    if (this.waiting.length >= this.limits().waiting) return false;
    const slot = deferred<void>();
    this.waiting.push(slot);
    const abort = () => {
      const index = this.waiting.indexOf(slot);
      if (index < 0) return;
      this.waiting.splice(index, 1);
      slot.reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    try {
      await slot.promise;
      return true;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  leave(): void {
    const next = this.waiting.shift();
    // The slot passes to the next waiting request, so that `running` stays.
    if (next === undefined) this.running--;
    else next.resolve();
  }
}
