// Changes index definitions for statements: calls the main thread, waits for the effect, and throws published errors.
import { untilAborted } from '#ports/within.ts';
import type { IndexAdmin, IndexChange, IndexStatus, NewIndex } from '#sqlpp/datastore/indexes.ts';
import { type Keyspace, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { BuildOutcome, CreateOutcome } from '../index.contract.ts';
import type { IndexCatalog } from '../scan/index-catalog.ts';
import type { LinkCalls } from './link-calls.ts';

export class LinkedIndexAdmin implements IndexAdmin {
  private readonly calls: Pick<LinkCalls, 'call'>;
  private readonly catalog: IndexCatalog;

  constructor(calls: Pick<LinkCalls, 'call'>, catalog: IndexCatalog) {
    this.calls = calls;
    this.catalog = catalog;
  }

  async create(
    definition: NewIndex,
    { ifNotExists, signal }: { ifNotExists: boolean; signal: AbortSignal },
  ): Promise<void> {
    const outcome = await this.calls.call<CreateOutcome>({ method: 'create', definition });
    if (outcome.kind === 'refused') throw sqlError(5000, outcome.reason);
    if (outcome.kind === 'exists') {
      if (ifNotExists) return;
      throw sqlError(4300, definition.name);
    }
    await this.untilReady([outcome.id], signal);
  }

  async drop(keyspace: Keyspace, name: string, { ifExists }: { ifExists: boolean }): Promise<void> {
    const id = this.catalog.named(keyspace, name)?.definition.id;
    const outcome = await this.calls.call<'dropped' | 'not found'>({ method: 'drop', keyspace, name });
    if (outcome === 'not found') {
      if (ifExists) return;
      throw notFound(keyspace, name);
    }
    if (id === undefined) return;
    // Later statements must not be planned with the index.
    const neverAborted = new AbortController().signal;
    await this.catalog.until(() => this.catalog.find(id) === undefined, neverAborted);
    await this.calls.call<void>({ method: 'gone from other nodes', ids: [id] });
  }

  async build(keyspace: Keyspace, names: readonly string[], signal: AbortSignal): Promise<void> {
    const { missing, ids } = await this.calls.call<BuildOutcome>({ method: 'build', keyspace, names });
    const [first] = missing;
    if (first !== undefined) throw notFound(keyspace, first);
    await this.untilReady(ids, signal, true);
  }

  async alter(keyspace: Keyspace, name: string, change: IndexChange): Promise<void> {
    type Outcome = 'altered' | 'not found' | { readonly refused: string };
    const outcome = await this.calls.call<Outcome>({ method: 'alter', keyspace, name, change });
    if (outcome === 'not found') throw notFound(keyspace, name);
    if (typeof outcome === 'object') throw sqlError(5000, outcome.refused);
  }

  /** Resolves when the indexes are online, or deferred ones are known; rejects if one cannot be built or was dropped. */
  private async untilReady(ids: readonly string[], signal: AbortSignal, isBuild = false): Promise<void> {
    const statusOf = (id: string): IndexStatus | undefined =>
      this.catalog.all().find(({ definition }) => definition.id === id);
    const isDecided = (id: string): boolean => {
      const status = statusOf(id);
      if (status?.state === 'offline' || status?.state === 'online') return true;
      return !isBuild && status?.state === 'deferred';
    };
    // The main thread sends the state after a change before the answer to the call: an index that is not in the state was dropped meanwhile.
    const isDone = (id: string): boolean => isDecided(id) || this.catalog.find(id) === undefined;
    await this.catalog.until(() => ids.map(isDone).every(Boolean), signal);
    for (const id of ids) {
      const status = statusOf(id);
      if (status === undefined) throw sqlError(5000, 'the index was dropped before it was complete');
      if (status.state === 'offline')
        throw sqlError(5000, `index ${status.definition.name} cannot be built: ${status.message ?? ''}`);
    }
    // A statement on another node may follow at once.
    await untilAborted(signal, this.calls.call<void>({ method: 'ready on other nodes', ids }));
  }
}

const notFound = (keyspace: Keyspace, name: string) =>
  sqlErrorWith(12016, { cause: `GSI index ${name} not found on ${keyspaceText(keyspace.name)}` });
