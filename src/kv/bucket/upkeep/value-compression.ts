// Compression of values in the background: in short slices, and not while clients write much.
import type { Clock, Timer } from '#ports/clock.ts';
import type { VbucketColumns } from '../../vbucket/columns.ts';
import type { Compressor } from '../../vbucket/compressor.ts';

export interface ValueCompressionOptions {
  compressor: Compressor;
  columns: VbucketColumns;
  clock: Clock;
  /** Whether the bucket's mode is `active`. */
  isOn: () => boolean;
}

const sliceSteps = 4_096;
const slicePauseMs = 100;
/** Time between the end of a round and the next check for changes and for values that the round left out. */
const restMs = 5_000;
/** More changes since the last slice postpone the next one, in favour of clients: 5,000 a second. */
const busyChanges = 500;

export class ValueCompression {
  private readonly options: ValueCompressionOptions;
  private timer: Timer | null = null;
  private isStopped = true;
  /** The number of changes at the last step, and when the round began; -1 before the first. */
  private seenChanges = -1;
  private roundChanges = -1;
  private isInRound = false;

  constructor(options: ValueCompressionOptions) {
    this.options = options;
  }

  start(): void {
    this.isStopped = false;
    this.applyMode();
  }

  stop(): void {
    this.isStopped = true;
    this.timer?.cancel();
    this.timer = null;
    this.isInRound = false;
    this.roundChanges = -1;
  }

  /** Called when the mode may have changed. Nothing runs in other modes. */
  applyMode(): void {
    if (this.isStopped) return;
    if (!this.options.isOn()) {
      this.stop();
      this.isStopped = false;
    } else if (this.timer === null) this.schedule(slicePauseMs);
  }

  private schedule(ms: number): void {
    this.timer = this.options.clock.after(ms, () => {
      this.timer = null;
      this.step();
    });
  }

  private step(): void {
    const changes = this.changes();
    const isBusy = this.seenChanges >= 0 && Math.abs(changes - this.seenChanges) > busyChanges;
    this.seenChanges = changes;
    this.schedule(isBusy ? slicePauseMs : this.work(changes));
  }

  /** Does a slice, or begins a round if there is something to compress; returns the time until the next step. */
  private work(changes: number): number {
    const { compressor } = this.options;
    if (!this.isInRound && changes === this.roundChanges && compressor.postponed === 0) return restMs;
    if (!this.isInRound) {
      this.roundChanges = changes;
      compressor.begin();
    }
    this.isInRound = compressor.slice(sliceSteps);
    return this.isInRound ? slicePauseMs : restMs;
  }

  private changes(): number {
    const { highSeqno } = this.options.columns;
    let sum = 0;
    for (let vb = 0; vb < highSeqno.length; vb++) sum += highSeqno[vb] as number;
    return sum;
  }
}
