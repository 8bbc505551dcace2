// One compare-and-set against servers whose answers prove little: an answer may be lost, and a refused write may be made after all.
// Certain is only what the key's history shows: at most one write follows on a revision. So the writer repeats the same write until it
// is acknowledged or the key is seen at a later revision, whose list of writes then says whether this one is among them.
import { UnavailableError } from '#base/unavailable-error.ts';
import { UnwritableError } from '#base/unwritable-error.ts';
import type { Clock } from '#ports/clock.ts';
import { fraction, type Random } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import { type ConfigLink, FinalError, NotSentError, type StoredRecord } from './config-link.ts';

/** So many writes of a key are told apart. */
const writesMax = 16;
const pauseMinMs = 20;
const pauseMaxMs = 1_000;

interface WriterOptions {
  link: ConfigLink;
  clock: Clock;
  random: Random;
  requestMs: number;
  /** As the mirror has it. */
  known(key: string): StoredRecord | undefined;
  untilReady(untilMs: number): Promise<boolean>;
}

interface WriteRequest {
  readonly key: string;
  readonly json: string | null;
  /** 0: the key does not exist. */
  readonly expectedRevision: number;
  readonly untilMs: number;
}

export interface ChangeOutcome {
  /** Null: another write came first. */
  readonly revision: number | null;
  /** What the key holds as a consequence, when the mirror may not have it yet. */
  readonly shows: StoredRecord | null;
}

/** One write on its way. */
interface Attempt {
  readonly record: Omit<StoredRecord, 'revision'> & { writes: readonly string[] };
  /** What the key holds where this write follows. */
  readonly base: StoredRecord | undefined;
  readonly memory: string;
  /** Of the key, with those of deletions; 0: the servers know nothing of it. */
  at: number;
  /** It may have reached a server. */
  isSent: boolean;
}

export class ConditionalWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** @throws UnwritableError; its text says whether the change may be lost. */
  async write({ key, json, expectedRevision, untilMs }: WriteRequest): Promise<ChangeOutcome> {
    const { link, clock, random, known } = this.#options;
    const base = known(key);
    if ((base?.json == null ? 0 : base.revision) !== expectedRevision) return { revision: null, shows: null };
    const writes = [random.uuid(), ...(base?.writes ?? [])].slice(0, writesMax);
    const at = base?.revision ?? 0;
    const attempt: Attempt = {
      ...{ record: { key, json, writes }, base, memory: link.memory, at, isSent: false },
    };
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
      const outcome = (await this.#send(attempt)) ?? (await this.#lookUp(attempt));
      if (outcome !== null) return outcome;
      if (clock.monotonicMs() + pauseMs > untilMs) throw this.#gaveUp(attempt);
      await clock.sleep(pauseMs * (0.5 + fraction(random) / 2));
      if (!(await this.#options.untilReady(untilMs))) throw this.#gaveUp(attempt);
      // Servers that forgot the first attempt could make it twice.
      if (attempt.isSent && link.memory !== attempt.memory) throw this.#gaveUp(attempt);
    }
  }

  /** Null: it cannot be known from the answer. */
  async #send(attempt: Attempt): Promise<ChangeOutcome | null> {
    const { link, clock, requestMs } = this.#options;
    const { record, at } = attempt;
    try {
      const revision = await within(clock, requestMs, link.write(record, at));
      attempt.isSent = true;
      return revision === null ? null : { revision, shows: { ...record, revision } };
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof FinalError && !attempt.isSent)
        throw new UnwritableError(`Nothing was changed: ${message}.`, { cause: error });
      if (!(error instanceof NotSentError || error instanceof FinalError)) attempt.isSent = true;
      return null;
    }
  }

  async #lookUp(attempt: Attempt): Promise<ChangeOutcome | null> {
    const { link, clock, requestMs } = this.#options;
    const { record, base } = attempt;
    let found: StoredRecord | null;
    try {
      found = await within(clock, requestMs, link.read(record.key));
    } catch {
      return null; // the next attempt finds out
    }
    if (found === null) {
      // Of a deleted key the servers may keep no trace.
      if (base?.json === null) attempt.at = 0;
      return null;
    }
    if (found.revision <= attempt.at) return null;
    return this.#judge(attempt, found);
  }

  /** The key has gone on: either this write is among those that followed, or it cannot be made any more. */
  #judge(attempt: Attempt, found: StoredRecord): ChangeOutcome {
    const id = attempt.record.writes[0] as string;
    if (!attempt.isSent) return { revision: null, shows: found };
    if (found.writes === null || this.#options.link.memory !== attempt.memory) throw this.#gaveUp(attempt);
    const place = found.writes.indexOf(id);
    // Another write followed this one: the revision before that one is none that a later change could be based on.
    if (place >= 0) return { revision: found.revision - (place === 0 ? 0 : 1), shows: found };
    const wouldShow =
      found.writes.length < writesMax || found.writes.includes(attempt.record.writes[1] ?? '');
    if (!wouldShow) throw this.#gaveUp(attempt);
    return { revision: null, shows: found };
  }

  #gaveUp({ isSent }: Attempt): UnavailableError {
    const { name } = this.#options.link;
    return isSent
      ? new UnavailableError(
          `The change may be lost: ${name} gave no certain answer in time. Read again what it changes.`,
        )
      : new UnavailableError(`Nothing was changed: ${name} cannot be reached.`);
  }
}
