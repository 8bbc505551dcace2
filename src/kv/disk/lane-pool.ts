// A bounded pool of lanes of one kind. Another lane starts only when all existing ones are busy, so that a node with little
// load has few threads. A lane whose thread has ended by itself is replaced.
import type { Clock } from '#ports/clock.ts';
import type { Lane } from './lane.ts';

/** Lanes that end again and again, as at a read that exhausts their memory, are replaced no more often than this. Until then their calls fail. */
const replacementPauseMs = 1000;

/** A lane, and how many calls use it. */
export interface LaneLease {
  readonly lane: Lane;
  uses: number;
}

export class LanePool {
  private readonly startLane: () => Lane;
  /** Whether idle lanes stay; otherwise a lane ends with its last call. */
  private readonly keepsIdle: boolean;
  private sizeMax = 1;
  private readonly clock: Pick<Clock, 'monotonicMs'>;
  private leases: LaneLease[] = [];
  private lastReplacementMs = -replacementPauseMs;

  constructor(startLane: () => Lane, options: { keepsIdle: boolean; clock: Pick<Clock, 'monotonicMs'> }) {
    this.startLane = startLane;
    this.keepsIdle = options.keepsIdle;
    this.clock = options.clock;
  }

  /** Lanes that take calls. */
  get lanes(): Lane[] {
    return this.leases.map(({ lane }) => lane).filter(({ hasEnded }) => !hasEnded);
  }

  /** Changes the size; lanes above a smaller size end when their calls have ended. */
  resize(sizeMax: number): void {
    this.sizeMax = sizeMax;
    this.endSurplus().catch(() => {});
  }

  /** The first lane, which stays as long as idle lanes do. */
  first(): Lane {
    this.removeEnded();
    return (this.leases[0] ?? this.add()).lane;
  }

  enter(): LaneLease {
    const lease = this.leastUsed();
    lease.uses++;
    return lease;
  }

  async leave(lease: LaneLease): Promise<void> {
    lease.uses--;
    await this.endSurplus();
  }

  async use<T>(act: (lane: Lane) => Promise<T>): Promise<T> {
    const lease = this.enter();
    try {
      return await act(lease.lane);
    } finally {
      this.leave(lease).catch(() => {});
    }
  }

  async stop(): Promise<void> {
    const { lanes } = this;
    this.leases = [];
    await Promise.all(lanes.map((lane) => lane.stop()));
  }

  private leastUsed(): LaneLease {
    this.removeEnded();
    const usable = this.leases.slice(0, this.sizeMax);
    const [first, ...others] = usable;
    const found = first && others.reduce((best, next) => (isBetter(next, best) ? next : best), first);
    if (found && (found.uses === 0 || usable.length === this.sizeMax)) return found;
    return this.add();
  }

  /** Others start in their place when they are needed. */
  private removeEnded(): void {
    if (!this.leases.some(({ lane }) => lane.hasEnded)) return;
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.lastReplacementMs < replacementPauseMs) return;
    this.lastReplacementMs = nowMs;
    this.leases = this.leases.filter(({ lane }) => !lane.hasEnded);
  }

  private add(): LaneLease {
    const lease = { lane: this.startLane(), uses: 0 };
    this.leases.push(lease);
    return lease;
  }

  private async endSurplus(): Promise<void> {
    const isSurplus = ({ uses }: LaneLease, index: number): boolean =>
      uses === 0 && !(this.keepsIdle && index < this.sizeMax);
    const surplus = this.leases.filter(isSurplus);
    this.leases = this.leases.filter((lease) => !surplus.includes(lease));
    await Promise.all(surplus.map(({ lane }) => lane.stop()));
  }
}

const isBetter = (lease: LaneLease, other: LaneLease): boolean =>
  lease.lane.hasEnded === other.lane.hasEnded ? lease.uses < other.uses : other.lane.hasEnded;
