// One compare-and-set on servers whose answers are unreliable: an answer may be lost, and a refused write may be applied later. Only the
// history of the key is reliable: at most one write follows a revision. So the writer repeats the same write until a server acknowledges
// it or a read shows a later revision of the key, whose list of writes says whether this one is among them.
import { UnavailableError } from '#base/unavailable-error.ts';
import { UnwritableError } from '#base/unwritable-error.ts';
import type { Clock } from '#ports/clock.ts';
import { fraction, type Random } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import { type ConfigLink, FinalError, NotSentError, type StoredRecord } from './config-link.ts';
import { type EndedStore, StoreEndedError } from './store-end.ts';

/** Write ids that a record lists. */
const writesMax = 16;
const pauseMinMs = 20;
const pauseMaxMs = 1_000;

interface WriterOptions {
  link: ConfigLink;
  clock: Clock;
  random: Random;
  requestMs: number;
  /** The key's record in the mirror. */
  mirrored(key: string): StoredRecord | undefined;
  untilReady(untilMs: number): Promise<boolean>;
  /** Null: the store has not ended. */
  ended(): EndedStore | null;
  /** Resolves once the mirror shows what decided the write; false: it does not in time. */
  untilShown(record: StoredRecord): Promise<boolean>;
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
  /** The record of the key after the write, since the mirror may not have it yet. */
  readonly record: StoredRecord | null;
}

/** A write that is being tried. */
interface Attempt {
  readonly record: Omit<StoredRecord, 'revision'> & { writes: readonly string[] };
  /** The record that this write replaces. */
  readonly base: StoredRecord | undefined;
  readonly writeMemory: string;
  /** The key's revision on the servers, deletions included; 0: they have no record of it. */
  revision: number;
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
    const { link, random, mirrored } = this.#options;
    const base = mirrored(key);
    if ((base?.json == null ? 0 : base.revision) !== expectedRevision)
      return { revision: null, record: null };
    const writes = [random.uuid(), ...(base?.writes ?? [])].slice(0, writesMax);
    const revision = base?.revision ?? 0;
    const attempt: Attempt = {
      record: { key, json, writes },
      base,
      writeMemory: link.writeMemory,
      revision,
      isSent: false,
    };
    const outcome = await this.#decided(attempt, untilMs);
    const isShown = outcome?.record == null || (await this.#options.untilShown(outcome.record));
    const ended = this.#options.ended();
    if (ended !== null) return this.#outcomeAtEnd(attempt, ended);
    if (!isShown) throw this.#timedOut(attempt);
    return outcome as ChangeOutcome;
  }

  /** Null: the store ended meanwhile. */
  async #decided(attempt: Attempt, untilMs: number): Promise<ChangeOutcome | null> {
    const { link, clock, random } = this.#options;
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
      const outcome = (await this.#send(attempt)) ?? (await this.#lookUp(attempt));
      if (outcome !== null || this.#options.ended() !== null) return outcome;
      if (clock.monotonicMs() + pauseMs > untilMs) throw this.#timedOut(attempt);
      await clock.sleep(pauseMs * (0.5 + fraction(random) / 2));
      if (!(await this.#options.untilReady(untilMs))) throw this.#timedOut(attempt);
      if (this.#options.ended() !== null) return null;
      // Servers that no longer know the first attempt could apply the write twice.
      if (attempt.isSent && link.writeMemory !== attempt.writeMemory) throw this.#timedOut(attempt);
    }
  }

  /** Null: the answer does not show the outcome. */
  async #send(attempt: Attempt): Promise<ChangeOutcome | null> {
    const { link, clock, requestMs } = this.#options;
    const { record } = attempt;
    try {
      const revision = await within(clock, requestMs, link.write(record, attempt.revision));
      attempt.isSent = true;
      return revision === null ? null : { revision, record: { ...record, revision } };
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
      return null; // The next attempt reads it.
    }
    if (found === null) {
      // The servers may no longer store a deleted key.
      if (base?.json === null) attempt.revision = 0;
      return null;
    }
    if (found.revision <= attempt.revision) return null;
    return this.#outcomeOf(attempt, found);
  }

  /** The key has a later revision: either this write is among those that followed, or it can no longer be applied. */
  #outcomeOf(attempt: Attempt, found: StoredRecord): ChangeOutcome {
    const id = attempt.record.writes[0] as string;
    if (!attempt.isSent) return { revision: null, record: found };
    if (found.writes === null || this.#options.link.writeMemory !== attempt.writeMemory)
      throw this.#timedOut(attempt);
    const index = found.writes.indexOf(id);
    // After a later write, the revision of this one is unknown: with a lower one than the newest, the caller's next write is refused.
    if (index >= 0) return { revision: found.revision - (index === 0 ? 0 : 1), record: found };
    // The list reaches back to the write before this one.
    const isComplete =
      found.writes.length < writesMax || found.writes.includes(attempt.record.writes[1] ?? '');
    if (!isComplete) throw this.#timedOut(attempt);
    return { revision: null, record: found };
  }

  /** What the store had at its end is all that counts: a write that came later was not made. */
  #outcomeAtEnd(attempt: Attempt, { content }: EndedStore): ChangeOutcome {
    if (!attempt.isSent) throw new StoreEndedError();
    if (content === null) throw this.#timedOut(attempt);
    const found = this.#options.mirrored(attempt.record.key);
    if (found === undefined || found.revision <= (attempt.base?.revision ?? 0)) throw new StoreEndedError();
    return this.#outcomeOf(attempt, found);
  }

  #timedOut({ isSent }: Attempt): UnavailableError {
    const { name } = this.#options.link;
    return isSent
      ? new UnavailableError(
          `The change may be lost: ${name} did not confirm it in time. Read the values again before you repeat it.`,
        )
      : new UnavailableError(`Nothing was changed: ${name} cannot be reached.`);
  }
}
