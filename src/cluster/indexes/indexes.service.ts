// Definitions of indexes. Those of a bucket are in one key, so that a compare-and-set keeps names unique; limits are checked before the
// compare-and-set, so concurrent statements may exceed them. Each change is sent to the index service; deletion of a collection or bucket
// deletes its indexes.
import type {
  BuildOutcome,
  CreateOutcome,
  IndexChange,
  IndexDefinitions,
  IndexKeyspace,
  IndexServiceAdmin,
  NewIndex,
  WantedIndex,
} from '#index/index.contract.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { type ChangeOptions, type ConfigStore, type Entry, update } from '#replog/config-store.ts';
import {
  type BucketsState,
  bucketsKey,
  type ManifestState,
  manifestKey,
  type NodeState,
  type ScopeState,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { indexPlaceOf } from '../config/node-paths.ts';
import { limitsEnforcement } from '../internal-settings/internal-settings.ts';
import { type IndexPlacement, indexPlacementOf, placementAfter } from './index-placement.ts';
import {
  type IndexesState,
  indexesKey,
  indexesPrefix,
  noIndexes,
  type StoredIndex,
} from './indexes-state.ts';

/** Limit of a node. */
const indexCountMax = 1_000;
const indexNameMax = 220;
const idBytes = 8;
const mib = 1024 * 1024;

export interface IndexesDeps {
  readonly store: ConfigStore;
  readonly view: ClusterView;
  readonly indexAdmin: IndexServiceAdmin;
  readonly random: Random;
  readonly log: Log;
}

export class IndexesService implements IndexDefinitions {
  readonly #deps: IndexesDeps;
  readonly #states = new Map<string, IndexesState>();
  readonly #listeners = new Set<() => void>();
  readonly #watches: { stop(): void }[] = [];
  #cleanup: Promise<void> = Promise.resolve();

  constructor(deps: IndexesDeps) {
    this.#deps = deps;
  }

  /** Resolves when the definitions are read; `follow` starts to send them to the index service. */
  async start(): Promise<void> {
    const { store } = this.#deps;
    this.#watches.push(await store.watch(indexesPrefix, (key, entry) => this.#readEntry(key, entry)));
  }

  follow(): void {
    this.#watches.push(this.#deps.view.onChange(() => this.#applyAll()));
    this.#applyAll();
  }

  /** Resolves when the clean-up no longer uses the store. */
  async stop(): Promise<void> {
    for (const watch of this.#watches.splice(0)) watch.stop();
    this.#listeners.clear();
    await this.#cleanup;
  }

  all(): readonly WantedIndex[] {
    return [...this.#states].flatMap(([uuid, { byId }]) =>
      Object.values(byId).filter(({ definition }) => this.#exists(uuid, definition.keyspace)),
    );
  }

  onChange(listener: () => void): { stop(): void } {
    this.#listeners.add(listener);
    return { stop: () => void this.#listeners.delete(listener) };
  }

  async create(wanted: NewIndex): Promise<CreateOutcome> {
    const { keyspace } = wanted;
    const placement = this.#placementOf(wanted);
    if ('refused' in placement) {
      // IF NOT EXISTS succeeds also where a limit, or the nodes that are left, would refuse the index.
      const known = this.#indexOfThatName(wanted);
      return known
        ? { kind: 'exists', id: known.definition.id }
        : { kind: 'refused', reason: placement.refused };
    }
    const id = Buffer.from(this.#deps.random.bytes(idBytes)).toString('hex');
    let outcome: CreateOutcome = { kind: 'created', id };
    await this.#change(keyspace.bucketUuid, (state) => {
      const same = indexNamed(state, keyspace, wanted.name);
      outcome = same ? { kind: 'exists', id: same.definition.id } : { kind: 'created', id };
      if (same) return state;
      const { nodes: _, ...definition } = wanted;
      const { replicas } = placement;
      const stored: StoredIndex = {
        definition: { ...definition, replicas, id },
        isBuilt: !wanted.isDeferred,
      };
      return { ...state, byId: { ...state.byId, [id]: stored } };
    });
    return outcome;
  }

  async drop(keyspace: IndexKeyspace, name: string): Promise<'dropped' | 'not found'> {
    let outcome: 'dropped' | 'not found' = 'not found';
    const drop = (state: IndexesState): IndexesState => {
      const found = indexNamed(state, keyspace, name);
      outcome = found ? 'dropped' : 'not found';
      return found ? without(state, [found.definition.id]) : state;
    };
    await this.#change(keyspace.bucketUuid, drop, { freesSpace: true });
    return outcome;
  }

  async build(keyspace: IndexKeyspace, names: readonly string[]): Promise<BuildOutcome> {
    let outcome: BuildOutcome = { missing: names, ids: [] };
    await this.#change(keyspace.bucketUuid, (state) => {
      const missing = names.filter((name) => !indexNamed(state, keyspace, name));
      outcome = { missing, ids: [] };
      if (missing.length > 0) return state;
      const built = names.map((name) => indexNamed(state, keyspace, name) as StoredIndex);
      outcome = { missing, ids: built.map(({ definition }) => definition.id) };
      const changed = built.map((index) => [index.definition.id, { ...index, isBuilt: true }]);
      return { ...state, byId: { ...state.byId, ...Object.fromEntries(changed) } };
    });
    return outcome;
  }

  async alter(
    keyspace: IndexKeyspace,
    name: string,
    change: IndexChange,
  ): Promise<'altered' | 'not found' | { readonly refused: string }> {
    let outcome: 'altered' | 'not found' | { readonly refused: string } = 'not found';
    await this.#change(keyspace.bucketUuid, (state) => {
      outcome = 'not found';
      const found = indexNamed(state, keyspace, name);
      if (found === undefined) return state;
      const { definition } = found;
      const placement = placementAfter(definition, change, this.#deps.view.cluster.nodes);
      outcome = 'refused' in placement ? placement : 'altered';
      if ('refused' in placement || placement.replicas === definition.replicas) return state;
      const altered = { ...found, definition: { ...definition, ...placement } };
      return { ...state, byId: { ...state.byId, [definition.id]: altered } };
    });
    return outcome;
  }

  #indexOfThatName({ keyspace, name }: NewIndex): WantedIndex | undefined {
    const { bucketUuid, collectionId } = keyspace;
    return this.all().find(
      ({ definition: known }) =>
        known.name === name &&
        known.keyspace.bucketUuid === bucketUuid &&
        known.keyspace.collectionId === collectionId,
    );
  }

  #placementOf(wanted: NewIndex): IndexPlacement {
    const refusal = this.#refusal(wanted);
    if (refusal !== null) return { refused: refusal };
    const { view } = this.#deps;
    const { numReplica } = view.setting('indexes', { numReplica: 0 });
    return indexPlacementOf(wanted, view.cluster.nodes, numReplica);
  }

  #refusal({ keyspace, name }: NewIndex): string | null {
    if (!this.#exists(keyspace.bucketUuid, keyspace)) return 'Keyspace not found: it was dropped meanwhile';
    const type = this.#deps.view.buckets.byUuid[keyspace.bucketUuid]?.type;
    if (type === 'cache') return 'Fails to create index: buckets of type cache have no indexes';
    if (name.length === 0 || Buffer.byteLength(name) > indexNameMax)
      return `Fails to create index: a name has 1 to ${indexNameMax} bytes`;
    const scopeRefusal = this.#scopeLimitRefusal(keyspace);
    if (scopeRefusal !== null) return scopeRefusal;
    const isFull = this.all().length >= indexCountMax;
    return isFull ? `Fails to create index: a node has at most ${indexCountMax} indexes` : null;
  }

  /** Refuses an index above the limit of its scope, with the published text, which clients compare. */
  #scopeLimitRefusal({ bucketUuid, collectionId }: IndexKeyspace): string | null {
    const { view } = this.#deps;
    if (!limitsEnforcement(view).isOn) return null;
    const idsIn = (scope: ScopeState) => scope.collections.map(({ uid }) => Number.parseInt(uid, 16));
    const scope = view
      .manifest(bucketUuid)
      .scopes.find((candidate) => idsIn(candidate).includes(collectionId));
    const max = scope?.limits?.['index']?.['num_indexes'];
    if (scope === undefined || max === undefined) return null;
    const ids = idsIn(scope);
    const ofKeyspace = this.all().filter(
      ({ definition: { keyspace } }) =>
        keyspace.bucketUuid === bucketUuid && ids.includes(keyspace.collectionId),
    );
    if (ofKeyspace.length < max) return null;
    return `Limit for number of indexes that can be created per scope has been reached. Limit : ${max}`;
  }

  /** The watch has reported the change when this resolves, and perhaps a later one of another node. */
  async #change(
    bucketUuid: string,
    change: (state: IndexesState) => IndexesState,
    options?: ChangeOptions,
  ): Promise<void> {
    await update(this.#deps.store, indexesKey(bucketUuid), noIndexes, change, options);
  }

  #readEntry(key: string, entry: Entry | null): void {
    const uuid = key.slice(indexesPrefix.length);
    if (entry === null) this.#states.delete(uuid);
    else this.#states.set(uuid, entry.value as IndexesState);
    this.#changed();
  }

  #changed(): void {
    const isFollowing = this.#watches.length > 1;
    if (isFollowing) this.#applyAll();
    for (const listener of [...this.#listeners]) listener();
  }

  /** Sends the definitions to the index service, and removes those without a keyspace. */
  #applyAll(): void {
    const { view, indexAdmin } = this.#deps;
    indexAdmin.apply({
      indexes: keepsIndexes(view.self) ? this.all() : [],
      memoryQuotaBytes: view.cluster.quotas.indexMemoryQuota * mib,
      place: indexPlaceOf(view.self),
    });
    this.#cleanup = this.#cleanup
      .then(() => this.#removeOrphans())
      .catch((error: Error) => this.#deps.log.warn('indexes.cleanup_failed', { reason: error.message }));
  }

  /** Removes definitions of deleted buckets and collections. */
  async #removeOrphans(): Promise<void> {
    const { store, view } = this.#deps;
    for (const [uuid, { byId }] of this.#states) {
      if (this.#watches.length === 0) return;
      if (view.buckets.byUuid[uuid] === undefined) {
        // Another node may have created both, and this one sees the bucket later.
        const found = await this.#current<BucketsState>(bucketsKey);
        if (found === null || found.byUuid[uuid] !== undefined) continue;
        const entry = await store.get(indexesKey(uuid));
        if (entry !== null) await store.delete(indexesKey(uuid), entry.revision);
        continue;
      }
      const orphans = Object.values(byId).filter(
        ({ definition }) => !this.#exists(uuid, definition.keyspace),
      );
      if (orphans.length === 0 || view.buckets.byUuid[uuid]?.state !== 'ready') continue;
      const manifest = await this.#current<ManifestState>(manifestKey(uuid));
      if (manifest === null) continue;
      const ids = orphans
        .filter(({ definition }) => !hasCollection(manifest, definition.keyspace.collectionId))
        .map(({ definition }) => definition.id);
      if (ids.length === 0) continue;
      await this.#change(uuid, (state) => without(state, ids), { freesSpace: true });
    }
  }

  /** The value that the store has now; null: not known. A read may be stale, and only a write proves that it was not. */
  async #current<Value>(key: string): Promise<Value | null> {
    const { store } = this.#deps;
    const entry = await store.get<Value>(key);
    if (entry === null) return null;
    const isCurrent = (await store.put(key, entry.value, entry.revision, { freesSpace: true })) !== null;
    return isCurrent ? entry.value : null;
  }

  #exists(bucketUuid: string, { collectionId }: IndexKeyspace): boolean {
    const { view } = this.#deps;
    if (view.buckets.byUuid[bucketUuid]?.state !== 'ready') return false;
    return hasCollection(view.manifest(bucketUuid), collectionId);
  }
}

/** A node with the query service keeps indexes too: its statements scan its own files. */
export const keepsIndexes = ({ services }: Pick<NodeState, 'services'>): boolean =>
  services === null || services.includes('index') || services.includes('n1ql');

const hasCollection = ({ scopes }: ManifestState, collectionId: number): boolean =>
  scopes.some((scope) => scope.collections.some(({ uid }) => Number.parseInt(uid, 16) === collectionId));

const indexNamed = ({ byId }: IndexesState, keyspace: IndexKeyspace, name: string): StoredIndex | undefined =>
  Object.values(byId).find(
    ({ definition }) =>
      definition.name === name && definition.keyspace.collectionId === keyspace.collectionId,
  );

const without = (state: IndexesState, ids: readonly string[]): IndexesState => ({
  ...state,
  byId: Object.fromEntries(Object.entries(state.byId).filter(([id]) => !ids.includes(id))),
});
