// Counts the memory of a request against its quota.
import { sqlError } from '../errors/sql-error.ts';
import type { ExecuteContext, Outcome } from './engine.ts';
import type { StatementMemory } from './held-memory.ts';

/** The approximate memory limit of a request without a quota. */
export const heldMax = 768 * 1024 * 1024;
/** After this many released bytes the thread collects garbage. */
const garbageMax = 16 << 20;

export class RequestMemory implements StatementMemory {
  readonly #context: Pick<ExecuteContext, 'collectGarbage' | 'memoryQuotaBytes'>;
  /** Gets the most bytes that were used at one time. */
  readonly #outcome: Pick<Outcome, 'usedBytes'>;
  heldBytes = 0;
  #garbageBytes = 0;

  constructor(
    context: Pick<ExecuteContext, 'collectGarbage' | 'memoryQuotaBytes'>,
    outcome: Pick<Outcome, 'usedBytes'>,
  ) {
    this.#context = context;
    this.#outcome = outcome;
  }

  /** Counts memory that an operator uses until `release`; throws 5500 above the quota. */
  hold(bytes: number): void {
    this.heldBytes += bytes;
    if (this.heldBytes > this.#outcome.usedBytes) this.#outcome.usedBytes = this.heldBytes;
    if (this.heldBytes > (this.#context.memoryQuotaBytes || heldMax)) throw sqlError(5500);
  }

  release(bytes: number): void {
    this.heldBytes -= bytes;
  }

  /** Like `release`, for memory that an operator discards all at once: collects garbage after each `garbageMax` bytes of it. */
  releaseDiscarded(bytes: number): void {
    this.release(bytes);
    this.#garbageBytes += bytes;
    if (this.#garbageBytes < garbageMax) return;
    this.#garbageBytes = 0;
    this.#context.collectGarbage?.();
  }
}
