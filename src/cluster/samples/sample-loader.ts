// The steps of loading a sample bucket. Each can be repeated: what exists is kept, also if it was changed meanwhile.
import type { IndexKeyspace, IndexServiceAdmin, NewIndex } from '#index/index.contract.ts';
import { untilAborted } from '#ports/within.ts';
import type { BucketsService } from '../buckets/buckets.service.ts';
import type { CollectionsService } from '../collections/collections.service.ts';
import type { WantedScope } from '../collections/manifest.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { until } from '../config/until.ts';
import type { OpenBucketDeps } from '../documents/open-bucket.ts';
import type { IndexNodes } from '../indexes/index-nodes.ts';
import { type IndexesService, keepsIndexes } from '../indexes/indexes.service.ts';
import type { SampleBucket, SampleCollection, SampleIndex } from './sample-bucket.ts';
import { SampleWriter } from './sample-writer.ts';

export interface SampleLoaderDeps extends OpenBucketDeps {
  readonly view: ClusterView;
  readonly buckets: Pick<BucketsService, 'create'>;
  readonly collections: Pick<CollectionsService, 'manifest' | 'replace'>;
  readonly indexes: Pick<IndexesService, 'create' | 'build'>;
  readonly indexNodes: Pick<IndexNodes, 'readyOnOtherNodes'>;
  readonly indexAdmin: IndexServiceAdmin;
}

export interface LoadedSample {
  readonly documents: number;
  readonly indexes: number;
}

/** How long a load waits for the indexes of this node at most; after that it is complete, and the builds continue. */
const indexWaitMs = 120_000;

export class SampleLoader {
  readonly #deps: SampleLoaderDeps;

  constructor(deps: SampleLoaderDeps) {
    this.#deps = deps;
  }

  /** The bucket with this uuid; null: creates it. @throws AppError if its creation is refused */
  async bucketOf(name: string, uuid: string | null, quotaMb: number): Promise<StoredBucket> {
    const { view, buckets } = this.#deps;
    if (uuid !== null) {
      const bucket = view.buckets.byUuid[uuid];
      if (bucket?.state === 'ready') return bucket;
      throw new Error('the bucket was deleted');
    }
    const replicaNumber = view.dataNodes.length > 1 ? 1 : 0;
    const form = { name, ramQuotaMB: String(quotaMb), replicaNumber: String(replicaNumber) };
    const ignoreWarnings = true;
    return await buckets.create(form, ignoreWarnings);
  }

  async load(bucket: StoredBucket, sample: SampleBucket, signal: AbortSignal): Promise<LoadedSample> {
    const collections = sample.collections();
    await this.#addCollections(bucket.name, collections);
    const documents = await this.#writeDocuments(bucket, collections, signal);
    const ids = await this.#createIndexes(bucket, collections);
    await this.#untilOnline(ids, signal);
    signal.throwIfAborted();
    return { documents, indexes: ids.length };
  }

  async #addCollections(bucket: string, wanted: readonly SampleCollection[]): Promise<void> {
    const { collections } = this.#deps;
    const manifest = collections.manifest(bucket);
    const scopes: WantedScope[] = manifest.scopes.map((scope) => ({
      ...scope,
      collections: [...scope.collections],
    }));
    const missing = wanted.filter(({ scope: scopeName, name }) => {
      const scope = scopes.find((candidate) => candidate.name === scopeName);
      if (scope === undefined) scopes.push({ name: scopeName, collections: [{ name }] });
      else if (scope.collections.some((collection) => collection.name === name)) return false;
      else scope.collections.push({ name });
      return true;
    });
    // The permission to install the sample includes its collections, so nothing is checked for each.
    const check = (): void => {};
    if (missing.length > 0) await collections.replace(bucket, scopes, manifest.uid, check);
  }

  async #writeDocuments(
    bucket: StoredBucket,
    collections: readonly SampleCollection[],
    signal: AbortSignal,
  ): Promise<number> {
    using writer = new SampleWriter({ ...this.#deps, bucket, signal });
    let written = 0;
    for (const collection of collections) {
      const { collectionId } = this.#keyspaceOf(bucket, collection);
      await writer.add(collectionId, collection.documents);
      written += collection.documents.length;
    }
    return written;
  }

  /** Resolves with the ids of the indexes; without a node that keeps indexes there are none. */
  async #createIndexes(bucket: StoredBucket, collections: readonly SampleCollection[]): Promise<string[]> {
    const { view, indexes } = this.#deps;
    if (!view.activeNodes.some(keepsIndexes)) return [];
    const ids: string[] = [];
    for (const collection of collections) {
      const keyspace = this.#keyspaceOf(bucket, collection);
      for (const index of collection.indexes) {
        const outcome = await indexes.create(definitionOf(index, keyspace));
        if (outcome.kind === 'refused') throw new Error(`index ${index.name}: ${outcome.reason}`);
        ids.push(outcome.id);
      }
      const names = collection.indexes.map(({ name }) => name);
      if (names.length > 0) await indexes.build(keyspace, names);
    }
    return ids;
  }

  /** Waits for the indexes, here and on the other nodes. */
  async #untilOnline(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const { view, indexAdmin, indexNodes, clock } = this.#deps;
    if (ids.length === 0) return;
    const isBuilding = (id: string) => {
      const state = indexAdmin.reports().find((report) => report.id === id)?.state;
      return state !== 'online' && state !== 'offline';
    };
    const elsewhere = untilAborted(signal, indexNodes.readyOnOtherNodes(ids));
    if (keepsIndexes(view.self))
      await until(indexAdmin, () => !ids.some(isBuilding), indexWaitMs, clock, signal);
    await elsewhere;
  }

  #keyspaceOf(bucket: StoredBucket, collection: Pick<SampleCollection, 'scope' | 'name'>): IndexKeyspace {
    const { scopes } = this.#deps.view.manifest(bucket.uuid);
    const scope = scopes.find(({ name }) => name === collection.scope);
    const found = scope?.collections.find(({ name }) => name === collection.name);
    if (scope === undefined || found === undefined)
      throw new Error(`the collection ${collection.scope}.${collection.name} was dropped`);
    return {
      name: { namespace: 'default', bucket: bucket.name, scope: scope.name, collection: found.name },
      bucketUuid: bucket.uuid,
      scopeId: Number.parseInt(scope.uid, 16),
      collectionId: Number.parseInt(found.uid, 16),
    };
  }
}

const definitionOf = ({ keys, ...index }: SampleIndex, keyspace: IndexKeyspace): NewIndex => ({
  ...index,
  keyspace,
  keys: keys.map((key) => ({ ...key, isDescending: false, includesMissing: false })),
  isDeferred: true,
});
