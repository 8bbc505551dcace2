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

/** The most write ids that a record lists. */
const writesMax = 16;
const pauseMinMs = 20;
const pauseMaxMs = 1_000;

interface WriterOptions {
  link: ConfigLink;
  clock: Clock;
  random: Random;
  requestTimeoutMs: number;
  /** The key's record in the mirror. */
  mirrored(key: string): StoredRecord | undefined;
  untilReady(untilMs: number): Promise<boolean>;
  /** Null: the store has not ended. */
  ended(): EndedStore | null;
  /** Resolves with true once the mirror contains the written record, or that of the write that came first; with false after a time limit. */
  untilMirrored(record: StoredRecord): Promise<boolean>;
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

/** A write, with all of its tries, whose outcome is not known yet. */
interface PendingWrite {
  readonly record: Omit<StoredRecord, 'revision'> & { writes: readonly string[] };
  /** The record that this write replaces. */
  readonly base: StoredRecord | undefined;
  readonly writeHistoryId: string;
  /** The key's revision on the servers, deletions included; 0: they have no record of it. */
  revision: number;
  /** Whether the write may have reached a server. */
  isSent: boolean;
}

export class ConditionalWriter {
  readonly #options: WriterOptions;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** @throws UnwritableError; `isUnchanged` and its text say whether the change may be lost. */
  async write({ key, json, expectedRevision, untilMs }: WriteRequest): Promise<ChangeOutcome> {
    const { link, random, mirrored } = this.#options;
    const base = mirrored(key);
    if ((base?.json == null ? 0 : base.revision) !== expectedRevision)
      return { revision: null, record: null };
    const writes = [random.uuid(), ...(base?.writes ?? [])].slice(0, writesMax);
    const revision = base?.revision ?? 0;
    const pending: PendingWrite = {
      record: { key, json, writes },
      base,
      writeHistoryId: link.writeHistoryId,
      revision,
      isSent: false,
    };
    const outcome = await this.#sendUntilDecided(pending, untilMs);
    const isMirrored = outcome?.record == null || (await this.#options.untilMirrored(outcome.record));
    const ended = this.#options.ended();
    if (ended !== null) return this.#outcomeAtEnd(pending, ended);
    if (!isMirrored) throw this.#unconfirmed(pending);
    return outcome as ChangeOutcome;
  }

  /** Null: the store ended meanwhile. */
  async #sendUntilDecided(pending: PendingWrite, untilMs: number): Promise<ChangeOutcome | null> {
    const { link, clock, random } = this.#options;
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
      const outcome = (await this.#send(pending)) ?? (await this.#lookUp(pending));
      if (outcome !== null || this.#options.ended() !== null) return outcome;
      if (clock.monotonicMs() + pauseMs > untilMs) throw this.#unconfirmed(pending);
      await clock.sleep(pauseMs * (0.5 + fraction(random) / 2));
      if (!(await this.#options.untilReady(untilMs))) throw this.#unconfirmed(pending);
      if (this.#options.ended() !== null) return null;
      if (this.#isOutdated(pending)) return { revision: null, record: null };
      // Servers that no longer know the first try could apply the write twice.
      if (pending.isSent && link.writeHistoryId !== pending.writeHistoryId) throw this.#unconfirmed(pending);
    }
  }

  /** Whether another write came before the first try. A founder that was restarted since would take a deleted key for one that never existed. */
  #isOutdated({ base, isSent, record }: PendingWrite): boolean {
    return !isSent && this.#options.mirrored(record.key)?.revision !== base?.revision;
  }

  /** Null: the answer does not show the outcome. */
  async #send(pending: PendingWrite): Promise<ChangeOutcome | null> {
    const { link, clock, requestTimeoutMs } = this.#options;
    const { record } = pending;
    try {
      const revision = await within(clock, requestTimeoutMs, link.write(record, pending.revision));
      pending.isSent = true;
      return revision === null ? null : { revision, record: { ...record, revision } };
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof FinalError && !pending.isSent)
        throw new UnwritableError(`Nothing was changed: ${message}.`, { cause: error, isUnchanged: true });
      if (!(error instanceof NotSentError || error instanceof FinalError)) pending.isSent = true;
      return null;
    }
  }

  async #lookUp(pending: PendingWrite): Promise<ChangeOutcome | null> {
    const { link, clock, requestTimeoutMs } = this.#options;
    const { record, base } = pending;
    let found: StoredRecord | null;
    try {
      found = await within(clock, requestTimeoutMs, link.read(record.key));
    } catch {
      return null; // The next try reads it.
    }
    if (found === null) {
      // The servers may no longer store a deleted key.
      if (base?.json === null) pending.revision = 0;
      return null;
    }
    if (found.revision <= pending.revision) return null;
    return this.#outcomeOf(pending, found);
  }

  /** The key has a later revision: either this write is among those that followed, or it can no longer be applied. */
  #outcomeOf(pending: PendingWrite, found: StoredRecord): ChangeOutcome {
    const id = pending.record.writes[0] as string;
    if (!pending.isSent) return { revision: null, record: found };
    if (found.writes === null || this.#options.link.writeHistoryId !== pending.writeHistoryId)
      throw this.#unconfirmed(pending);
    const index = found.writes.indexOf(id);
    // The revision of this write is unknown if a later write followed. Return one below the newest, so that the caller's next
    // compare-and-set fails.
    if (index >= 0) return { revision: found.revision - (index === 0 ? 0 : 1), record: found };
    // Whether the list reaches back to the write before this one: then this write would be in the list.
    const isComplete =
      found.writes.length < writesMax || found.writes.includes(pending.record.writes[1] ?? '');
    if (!isComplete) throw this.#unconfirmed(pending);
    return { revision: null, record: found };
  }

  /** What the store had at its end is all that counts: a write that came later was not made. */
  #outcomeAtEnd(pending: PendingWrite, { content }: EndedStore): ChangeOutcome {
    if (!pending.isSent) throw new StoreEndedError();
    if (content === null) throw this.#unconfirmed(pending);
    const found = this.#options.mirrored(pending.record.key);
    if (found === undefined || found.revision <= (pending.base?.revision ?? 0)) throw new StoreEndedError();
    return this.#outcomeOf(pending, found);
  }

  #unconfirmed({ isSent }: PendingWrite): UnavailableError {
    const { name } = this.#options.link;
    return isSent
      ? new UnavailableError(
          `The change may be lost: ${name} did not confirm it. Read the values again before you repeat it.`,
        )
      : new UnavailableError(`Nothing was changed: ${name} cannot be reached.`, { isUnchanged: true });
  }
}
