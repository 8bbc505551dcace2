// Connections between nodes of a simulation, over its net: bytes arrive in order, until a message is lost, which breaks the
// connection, as TCP would after a time.
import type { Link, LinkAddress, LinkHandler, LinkHost } from '#kv/replication/link.ts';
import type { SimulatedClock } from './simulated-clock.ts';

interface End {
  readonly link: SimulatedLink;
  deliver(bytes: Buffer): void;
  end(reason: string): void;
}

/** The time until both ends notice a lost message or a failed connection. */
const noticeMs = 300;

class SimulatedLink implements Link, End {
  readonly node: string;
  readonly #from: string;
  readonly #net: SimulatedLinks;
  other: SimulatedLink | null = null;
  #handler: LinkHandler | null = null;
  #early: Buffer[] = [];
  #isClosed = false;
  /** A message was lost: as over TCP, nothing that was sent after it arrives. */
  #isBroken = false;

  constructor(net: SimulatedLinks, from: string, to: string) {
    this.#net = net;
    this.#from = from;
    this.node = to;
  }

  get link(): SimulatedLink {
    return this;
  }

  get unsentBytes(): number {
    return 0;
  }

  /** Copies the bytes when they arrive, so that a sender which changes them too early is noticed. */
  send(bytes: Uint8Array, sent: () => void): void {
    const { other } = this;
    if (this.#isClosed || other === null) return;
    this.#net.carry(this.#from, this.node, (isLost) => {
      const copy = Buffer.from(bytes);
      sent();
      if (this.#isBroken) return;
      if (!isLost) return other.deliver(copy);
      this.#isBroken = true;
      this.#net.clock.after(noticeMs, () => {
        this.end('lost');
        other.end('lost');
      });
    });
  }

  receive(handler: LinkHandler): void {
    this.#handler = handler;
    for (const bytes of this.#early.splice(0)) this.#pass(bytes, handler);
  }

  close(reason: string): void {
    this.end(reason);
    this.#net.carry(this.#from, this.node, (isLost) => {
      if (!isLost && !this.#isBroken) this.other?.end('closed by the other node');
      else this.#net.clock.after(noticeMs, () => this.other?.end('lost'));
    });
  }

  deliver(bytes: Buffer): void {
    if (this.#isClosed) return;
    if (this.#handler) this.#pass(bytes, this.#handler);
    else this.#early.push(bytes);
  }

  /** Overwrites the bytes afterwards, as a real link reads the next ones into the same memory. */
  #pass(bytes: Buffer, handler: LinkHandler): void {
    handler.data(bytes);
    bytes.fill(0xff);
  }

  end(reason: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#handler?.closed(reason);
  }
}

export class SimulatedLinks {
  readonly clock: SimulatedClock;
  readonly #hosts = new Map<string, (link: Link) => void>();
  readonly #cut = new Set<string>();
  readonly #lastMs = new Map<string, number>();
  readonly #random: (below: number) => number;
  delayMaxMs = 2;

  constructor(clock: SimulatedClock, random: (below: number) => number) {
    this.clock = clock;
    this.#random = random;
  }

  cut(from: string, to: string): void {
    this.#cut.add(`${from} ${to}`);
  }

  restore(from: string, to: string): void {
    this.#cut.delete(`${from} ${to}`);
  }

  restoreAll(): void {
    this.#cut.clear();
  }

  /** The process of the node ended: nothing reaches it. */
  detach(node: string): void {
    this.#hosts.delete(node);
  }

  host(node: string): LinkHost<unknown> {
    const net = this;
    return {
      accepted: () => {},
      async listen() {
        net.#hosts.set(node, (link) => this.accepted(link));
        return 1;
      },
      useTls() {},
      connect: (address: LinkAddress) => net.#connect(node, address.node),
      async close() {
        net.detach(node);
      },
    };
  }

  carry(from: string, to: string, arrive: (isLost: boolean) => void): void {
    const key = `${from} ${to}`;
    const atMs = Math.max(
      this.clock.monotonicMs() + this.#random(this.delayMaxMs + 1),
      this.#lastMs.get(key) ?? 0,
    );
    this.#lastMs.set(key, atMs);
    this.clock.after(atMs - this.clock.monotonicMs(), () => arrive(this.#cut.has(key)));
  }

  #connect(from: string, to: string): Promise<Link> {
    return new Promise((resolve, reject) => {
      this.carry(from, to, (isLost) => {
        const accept = this.#hosts.get(to);
        if (isLost || accept === undefined || this.#cut.has(`${to} ${from}`)) {
          this.clock.after(noticeMs, () => reject(new Error(`no connection from ${from} to ${to}`)));
          return;
        }
        const [near, far] = [new SimulatedLink(this, from, to), new SimulatedLink(this, to, from)];
        near.other = far;
        far.other = near;
        accept(far);
        resolve(near);
      });
    });
  }
}
