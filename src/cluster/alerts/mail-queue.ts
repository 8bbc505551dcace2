// The queue of mails: in order, one at a time, retried with growing pauses, for a day at most. No caller waits for
// a mail. If the queue is full, because the server is unreachable, the oldest mail is dropped.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { MailOutcome } from './mailer.ts';

export const waitingMax = 100;
export const firstPauseMs = 15_000;
export const longestPauseMs = 15 * 60_000;
export const retriedForMs = 24 * 3_600_000;

export interface QueueDeps<T> {
  clock: Clock;
  log: Log;
  deliver(mail: T, signal: AbortSignal): Promise<MailOutcome>;
  /** Called with a mail that is not retried any more. */
  lost(mail: T, reason: string): void;
}

interface Waiting<T> {
  mail: T;
  sinceMs: number;
}

export class MailQueue<T> {
  readonly #deps: QueueDeps<T>;
  readonly #waiting: Waiting<T>[] = [];
  readonly #stopping = new AbortController();
  /** Set during the pause after a failure. */
  #timer: Timer | null = null;
  #failures = 0;
  #running: Promise<void> | null = null;

  constructor(deps: QueueDeps<T>) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#waiting.length;
  }

  add(mail: T): void {
    if (this.#waiting.length === waitingMax)
      this.#drop('too many mails are queued', this.#running === null ? 0 : 1);
    this.#waiting.push({ mail, sinceMs: this.#deps.clock.monotonicMs() });
    if (this.#timer === null) this.#run();
  }

  /** Retries at once: the settings changed, or the server is reachable again. */
  retry(): void {
    this.#failures = 0;
    this.#timer?.cancel();
    this.#timer = null;
    this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the node stops'));
    this.#timer?.cancel();
    await this.#running;
  }

  #run(): void {
    if (this.#running !== null || this.#stopping.signal.aborted) return;
    this.#running = this.#work().finally(() => {
      this.#running = null;
      // A mail may have been added after the last check.
      if (this.#timer === null && this.size > 0) this.#run();
    });
  }

  async #work(): Promise<void> {
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined || this.#stopping.signal.aborted) return;
      const outcome = await this.#try(first.mail);
      if (outcome.sent) this.#sent(outcome);
      else if (outcome.permanent) this.#drop(outcome.reason);
      else return this.#pause(first, outcome.reason);
    }
  }

  async #try(mail: T): Promise<MailOutcome> {
    try {
      return await this.#deps.deliver(mail, this.#stopping.signal);
    } catch (error) {
      return { sent: false, reason: String(error), permanent: false };
    }
  }

  #sent({ refused, unsupported }: Extract<MailOutcome, { sent: true }>): void {
    const { log } = this.#deps;
    this.#waiting.shift();
    this.#failures = 0;
    if (refused.length > 0) log.warn('alert.recipients_refused', { recipients: refused.length });
    if (unsupported.length > 0) log.warn('alert.mail_extensions_unsupported', { unsupported });
  }

  #drop(reason: string, index = 0): void {
    const [dropped] = this.#waiting.splice(index, 1);
    if (dropped) this.#deps.lost(dropped.mail, reason);
  }

  #pause(first: Waiting<T>, reason: string): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#deps.clock.monotonicMs() - first.sinceMs >= retriedForMs) this.#drop(reason);
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, longestPauseMs);
    this.#failures++;
    this.#deps.log.warn('alert.mail_waits', { reason, pauseMs, waiting: this.size });
    this.#timer = this.#deps.clock.after(pauseMs, () => {
      this.#timer = null;
      this.#run();
    });
  }
}
