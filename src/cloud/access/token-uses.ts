// Collects the last uses of tokens in memory and writes them together every ten seconds, since each write invalidates cached answers.
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { TokenRow } from '../store/tables.ts';
import type { TokenStore } from './tokens.store.ts';

/** Uses of a token within this time are written as one. */
const useResolutionMs = 60_000;
/** Uses of all tokens within this time are written together. */
const writeEveryMs = 10_000;
/** The most tokens in one write. */
const batchMax = 500;

export interface TokenUsesOptions {
  tokens: TokenStore;
  clock: Clock;
  log: Log;
}

export class TokenUses {
  private readonly options: TokenUsesOptions;
  private readonly noted = new Set<string>();
  /** One time for all uses of a batch. */
  private lastUseMs = 0;
  private timer: Timer | null = null;
  private writing: Promise<void> = Promise.resolve();

  constructor(options: TokenUsesOptions) {
    this.options = options;
  }

  note({ id, last_used_at }: TokenRow): void {
    const nowMs = this.options.clock.wallMs();
    if (last_used_at !== null && nowMs - last_used_at < useResolutionMs) return;
    this.lastUseMs = nowMs;
    this.noted.add(id);
    this.timer ??= this.options.clock.after(writeEveryMs, () => this.write());
  }

  /** Writes the uses recorded so far. */
  async stop(): Promise<void> {
    this.timer?.cancel();
    this.write();
    await this.writing;
  }

  private write(): void {
    this.timer = null;
    const { tokens, log } = this.options;
    const ids = [...this.noted];
    this.noted.clear();
    for (let from = 0; from < ids.length; from += batchMax) {
      const batch = ids.slice(from, from + batchMax);
      this.writing = this.writing
        .then(() => tokens.markUsed(batch, this.lastUseMs))
        .catch((error: Error) =>
          log.warn('tokens.uses_unwritten', { tokens: batch.length, reason: error.message }),
        );
    }
  }
}
