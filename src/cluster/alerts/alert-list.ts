// Unacknowledged alerts, as `/pools/default` lists them. Each key is listed once, and is removed
// when it was acknowledged or when its cause has been absent for a while.
import type { Clock } from '#ports/clock.ts';
import type { MeasuredKind } from './alert-settings.ts';

const listedMax = 100;
/** The minimum interval between two alerts of one key; longer for a disk, since disks fill slowly. An alert whose cause was absent for `quietMs` is removed from the list. */
export const quietMs = 10 * 60_000;
export const diskQuietMs = 12 * 3_600_000;

export interface ListedAlert {
  /** Kind and subject: `overhead travel`. */
  key: string;
  kind: MeasuredKind;
  text: string;
  /** Wall clock time of the alert. */
  atMs: number;
}

/** The cause of an alert, kept until another alert of it may be raised. */
interface Cause {
  kind: MeasuredKind;
  /** When its last alert was raised. */
  raisedMs: number;
  /** When a check last found it. */
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

  /** Identifies the state of the list: silencing applies only to the alerts that the client has seen. */
  get token(): string {
    return String(this.#changes);
  }

  all(): readonly ListedAlert[] {
    return [...this.#listed.values()];
  }

  /** Records that a cause is present. Returns true if its alert is new, so that it is also mailed. */
  note(key: string, kind: MeasuredKind, text: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#causes.get(key);
    const isNew = !before || nowMs - before.raisedMs >= quietMsOf(kind);
    this.#causes.set(key, { kind, raisedMs: isNew ? nowMs : before.raisedMs, lastMs: nowMs });
    if (!isNew) return false;
    this.#listed.delete(key);
    this.#listed.set(key, { key, kind, text, atMs: this.#clock.wallMs() });
    const [oldest] = this.#listed.keys();
    if (this.#listed.size > listedMax) this.#listed.delete(oldest as string);
    this.#changes++;
    return true;
  }

  /** Removes alerts whose cause was last seen a while ago. */
  expire(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { kind, raisedMs, lastMs }] of this.#causes) {
      if (nowMs - lastMs < quietMs) continue;
      if (this.#listed.delete(key)) this.#changes++;
      if (nowMs - raisedMs >= quietMsOf(kind)) this.#causes.delete(key);
    }
  }

  /** Removes all alerts, and returns their keys. Does nothing if the list has changed since the client read the token. */
  silence(token: string): string[] {
    if (token !== this.token) return [];
    const keys = [...this.#listed.keys()];
    this.#listed.clear();
    this.#changes++;
    return keys;
  }

  /** Removes the alerts of these keys. */
  remove(keys: readonly string[]): void {
    for (const key of keys) if (this.#listed.delete(key)) this.#changes++;
  }
}

const quietMsOf = (kind: MeasuredKind): number => (kind === 'disk' ? diskQuietMs : quietMs);
