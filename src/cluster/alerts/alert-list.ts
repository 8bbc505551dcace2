// Alerts that administrators have not seen yet, as `/pools/default` lists them. One of a key is listed once, and leaves the
// list when it was seen or when its cause has been gone for a while.
import type { Clock } from '#ports/clock.ts';
import type { MeasuredKind } from './alert-settings.ts';

const listedMax = 100;
/** The same key is raised at most once in this time; that of a disk less often, since disks fill slowly. */
export const quietMs = 10 * 60_000;
export const diskQuietMs = 12 * 3_600_000;

export interface ListedAlert {
  /** What it is about: `overhead travel`. */
  key: string;
  kind: MeasuredKind;
  text: string;
  /** Wall clock when it was raised. */
  atMs: number;
}

/** A cause, as long as it is remembered. */
interface Cause {
  kind: MeasuredKind;
  raisedMs: number;
  lastMs: number;
}

export class AlertList {
  readonly #clock: Clock;
  readonly #listed = new Map<string, ListedAlert>();
  readonly #causes = new Map<string, Cause>();
  #changes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Names the state of the list: who silences it has seen just these. */
  get token(): string {
    return String(this.#changes);
  }

  all(): readonly ListedAlert[] {
    return [...this.#listed.values()];
  }

  /** Answers whether this is news: then it is mailed too. */
  note(key: string, kind: MeasuredKind, text: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#causes.get(key);
    const isNews = !before || nowMs - before.raisedMs >= quietMsOf(kind);
    this.#causes.set(key, { kind, raisedMs: isNews ? nowMs : before.raisedMs, lastMs: nowMs });
    if (!isNews) return false;
    this.#listed.delete(key);
    this.#listed.set(key, { key, kind, text, atMs: this.#clock.wallMs() });
    const [oldest] = this.#listed.keys();
    if (this.#listed.size > listedMax) this.#listed.delete(oldest as string);
    this.#changes++;
    return true;
  }

  /** Drops alerts whose cause was last seen a while ago. */
  expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { kind, raisedMs, lastMs }] of this.#causes) {
      if (nowMs - lastMs < quietMs) continue;
      if (this.#listed.delete(key)) this.#changes++;
      if (nowMs - raisedMs >= quietMsOf(kind)) this.#causes.delete(key);
    }
  }

  /** Does nothing for a list that has changed since the token was read. */
  silence(token: string): void {
    if (token !== this.token) return;
    this.#listed.clear();
    this.#changes++;
  }
}

const quietMsOf = (kind: MeasuredKind): number => (kind === 'disk' ? diskQuietMs : quietMs);
