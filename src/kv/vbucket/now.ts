// The time of the current socket callback: read once by the host, then used by every operation of the callback.

const Slot = { casHi: 0, casLo: 1, seconds: 2, lockTicks: 3, lockTicksUp: 4 } as const;
/** Coarse, so that a lock's 32-bit end wraps only after eight years. */
const ticksPerSecond = 16;

export class Now {
  /** Typed arrays, because numbers from 2^31 on in plain fields are objects on the heap. */
  private readonly words = new Uint32Array(5);
  private readonly monotonic = new Float64Array(1);

  /** The host calls this before it passes input on, and from timers. */
  set(wallMs: number, monotonicMs: number): void {
    // Nanoseconds with the low 16 bits clear: `advanceCas` counts there while the time does not advance.
    // From 2^60 on, doubles have steps of 256, so these bits are exact.
    const nanoseconds = wallMs * 1e6;
    const high = Math.floor(nanoseconds / 2 ** 32);
    this.words[Slot.casHi] = high;
    this.words[Slot.casLo] = ((nanoseconds - high * 2 ** 32) & 0xffff0000) >>> 0;
    this.words[Slot.seconds] = Math.floor(wallMs / 1000);
    const ticks = (monotonicMs * ticksPerSecond) / 1000;
    this.words[Slot.lockTicks] = Math.floor(ticks);
    this.words[Slot.lockTicksUp] = Math.ceil(ticks);
    this.monotonic[0] = monotonicMs;
  }

  /** High and low word of the CAS for this time. */
  get casHi(): number {
    return this.words[Slot.casHi] as number;
  }
  get casLo(): number {
    return this.words[Slot.casLo] as number;
  }

  /** Seconds since 1970. */
  get seconds(): number {
    return this.words[Slot.seconds] as number;
  }

  get monotonicMs(): number {
    return this.monotonic[0] as number;
  }

  /** End of a lock of `seconds` taken now, rounded up to a tick. */
  lockEnd(seconds: number): number {
    return ((this.words[Slot.lockTicksUp] as number) + seconds * ticksPerSecond) >>> 0;
  }

  /** Ticks wrap after years; the sign of the difference orders them. */
  isBefore(lockEnd: number): boolean {
    return ((lockEnd - (this.words[Slot.lockTicks] as number)) | 0) > 0;
  }
}
