// The events of this node: written when they happen, read back from their journals, streamed to followers.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { type Attributes, type EventName, eventKinds, isEventName, type JournalName } from './event-kinds.ts';
import { inOrder } from './event-order.ts';
import type { Journal } from './journal.ts';

export interface EventRecord {
  readonly atMs: number;
  readonly uuid: string;
  readonly name: EventName;
  /** The node of the event. */
  readonly otpNode: string;
  readonly hostname: string;
  readonly attributes: Attributes;
}

export interface EventQuery {
  /** The first events from this time on; absent: the newest events. */
  readonly sinceMs?: number | undefined;
  readonly limit: number;
  readonly isVisible: (record: EventRecord) => boolean;
}

export interface EventLogDeps {
  journals: Readonly<Record<JournalName, Journal>>;
  node: () => { otpNode: string; hostname: string };
  clock: Clock;
  random: Random;
  log: Log;
  /** Called if an event could not be written. */
  onNotStored?: () => void;
}

export class EventLog {
  readonly #deps: EventLogDeps;
  readonly #listeners = new Set<(record: EventRecord) => void>();

  constructor(deps: EventLogDeps) {
    this.#deps = deps;
  }

  /** Never throws: the event has happened, even if it cannot be stored. */
  record(name: EventName, attributes: Attributes = {}): void {
    const { journals, node, clock, random, log } = this.#deps;
    const { otpNode, hostname } = node();
    const record = { atMs: clock.wallMs(), uuid: random.uuid(), name, otpNode, hostname, attributes };
    try {
      journals[eventKinds[name].journal].append(JSON.stringify(record));
    } catch (error) {
      log.error('event.not_stored', { event: name, reason: (error as Error).message });
      this.#deps.onNotStored?.();
    }
    for (const listener of [...this.#listeners]) listener(record);
  }

  /** Resolves with the oldest event first. */
  async read(query: EventQuery): Promise<EventRecord[]> {
    const found = await Promise.all(
      Object.values(this.#deps.journals).map((journal) => matching(journal, query)),
    );
    const ordered = inOrder(found);
    return query.sinceMs === undefined ? ordered.slice(-query.limit) : ordered.slice(0, query.limit);
  }

  onEvent(listener: (record: EventRecord) => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  close(): void {
    for (const journal of Object.values(this.#deps.journals)) journal.close();
  }
}

/** Reads no further back than the query needs. */
async function matching(journal: Journal, { sinceMs, limit, isVisible }: EventQuery): Promise<EventRecord[]> {
  const segments: EventRecord[][] = [];
  let count = 0;
  for await (const lines of journal.segments()) {
    const records = lines.flatMap(parsed);
    const wanted = records.filter((record) => record.atMs >= (sinceMs ?? 0) && isVisible(record));
    segments.unshift(wanted);
    count += wanted.length;
    const [oldest] = records;
    const isEnough = sinceMs === undefined ? count >= limit : oldest !== undefined && oldest.atMs < sinceMs;
    if (isEnough) break;
  }
  return segments.flat();
}

/** Skips a line that a crash truncated. */
function parsed(line: string): EventRecord[] {
  try {
    const record = JSON.parse(line) as EventRecord;
    return isEventName(record.name) ? [record] : [];
  } catch {
    return [];
  }
}
