// Copies the configuration of this node to new NATS servers. Loaded only for a move.
import { engineKey, firstRevisionAfter } from '#cluster/engine/engine-record.ts';
import type { EngineRecord, NatsSource } from '#cluster/joining/join-messages.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { within } from '#ports/within.ts';
import type { ConfigStore } from '#replog/config-store.ts';
import type { StoredRecord } from '#replog/mirror/config-link.ts';
import { MirroredConfigStore } from '#replog/mirror/mirrored-config-store.ts';
import { NatsConfigLink } from '#replog/nats/nats-config-link.adapter.ts';
import { parseServers } from '#replog/nats/nats-servers.ts';
import type { SwitchingConfigStore } from '#replog/switching-config-store.ts';

/** The time limit of the start: new servers choose a leader before they store anything. */
const startTimeoutMs = 60_000;
/** The time limit of copying: shorter than the time for which the present store makes changes wait (`hold`). */
const copyMs = 8_000;
const writesAtOnce = 16;

/** A new store on the servers. Its revisions begin above `revision`, that of the present store. */
export async function newStoreOn(
  source: NatsSource,
  revision: number,
  log: Log,
): Promise<MirroredConfigStore> {
  const link = new NatsConfigLink({
    ...source,
    servers: parseServers(source.servers),
    clock: realClock,
    random: realRandom,
    mayCreate: true,
    firstRevision: firstRevisionAfter(revision),
  });
  const store = new MirroredConfigStore({
    link,
    clock: realClock,
    random: realRandom,
    log: log.child('configuration'),
    seen: { load: () => null, save: () => {} },
  });
  let reason = 'they do not answer';
  const started = store.start((text) => {
    reason = text;
  });
  const timeoutError = (): Error => new Error(`the new NATS servers cannot be used: ${reason}`);
  try {
    await within(realClock, startTimeoutMs, started, timeoutError);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

export interface ContentMove {
  readonly record: EngineRecord;
  content(): Promise<readonly StoredRecord[]>;
  /** Stores durably what this node needs if its next start finds the record in the present store. */
  prepare(): void;
  /** Uses the new store from now on. */
  use(): Promise<void>;
}

/**
 * Moves the configuration. The last change in the present store is the record that the configuration is on the servers. If the move
 * fails before that change, the present store remains in use; after it, nothing is changed in the present store.
 */
export async function moveContent(
  present: SwitchingConfigStore,
  target: ConfigStore,
  { record, content, prepare, use }: ContentMove,
): Promise<void> {
  present.hold();
  try {
    await writeAll(target, await content());
    prepare();
    if ((await present.putWhileHeld(engineKey, record, 0)) === null)
      throw new Error('the configuration is on other servers already');
    await use();
  } catch (error) {
    if ((await present.get(engineKey)) === null) present.release();
    throw error;
  }
  present.release();
}

async function writeAll(store: ConfigStore, records: readonly StoredRecord[]): Promise<void> {
  const timeoutError = (): Error => new Error('the new NATS servers are too slow');
  const write = async ({ key, json }: StoredRecord): Promise<void> => {
    const revision = await store.put(key, JSON.parse(json as string), 0);
    if (revision === null) throw new Error(`the new NATS servers have "${key}" already`);
  };
  const all = async (): Promise<void> => {
    for (let at = 0; at < records.length; at += writesAtOnce)
      await Promise.all(records.slice(at, at + writesAtOnce).map(write));
  };
  await within(realClock, copyMs, all(), timeoutError);
}
