// A bounded pool of lanes of one kind. Another lane starts only when all existing ones are busy, so that a node with little
// load has few threads.
import type { Lane } from './lane.ts';

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
  private leases: LaneLease[] = [];

  constructor(startLane: () => Lane, options: { keepsIdle: boolean }) {
    this.startLane = startLane;
    this.keepsIdle = options.keepsIdle;
  }

  get lanes(): Lane[] {
    return this.leases.map(({ lane }) => lane);
  }

  /** Changes the size; lanes above a smaller size end when their calls have ended. */
  resize(sizeMax: number): void {
    this.sizeMax = sizeMax;
    this.endSurplus().catch(() => {});
  }

  /** The first lane, which stays as long as idle lanes do. */
  first(): Lane {
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
    const usable = this.leases.slice(0, this.sizeMax);
    const [first, ...others] = usable;
    const found = first && others.reduce((best, next) => (next.uses < best.uses ? next : best), first);
    if (found && (found.uses === 0 || usable.length === this.sizeMax)) return found;
    return this.add();
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
