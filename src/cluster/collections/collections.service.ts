// The scopes and collections of buckets: one key for each bucket, changed by compare-and-set.

import { generalRefusals } from '#contract/general.refusals.ts';
import type { Clock } from '#ports/clock.ts';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import { type ChangeOptions, type ConfigStore, update } from '#replog/config-store.ts';
import { applyWaitMs } from '../config/apply-wait.ts';
import {
  initialManifest,
  type ManifestState,
  manifestKey,
  type StoredBucket,
} from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import { until } from '../config/until.ts';
import { limitsEnforcement } from '../internal-settings/internal-settings.ts';
import { collectionRefusals } from '../refusals/collections.refusals.ts';
import * as manifests from './manifest.ts';

/** Per cluster, without the default ones. */
export const scopeCountMax = 1_200;
export const collectionCountMax = 1_200;
const ensureRetryPauseMs = 500;

export interface CollectionsDeps {
  store: ConfigStore;
  view: ClusterView;
  data: DataService;
  clock: Clock;
}

export class CollectionsService {
  readonly #deps: CollectionsDeps;
  /** Runs changes one at a time: each manifest has its own key, but the limits apply to all of them together. */
  readonly #changes = new KeyedQueue();

  constructor(deps: CollectionsDeps) {
    this.#deps = deps;
  }

  manifest(bucketName: string): ManifestState {
    return this.#deps.view.manifest(this.#bucket(bucketName).uuid);
  }

  addScope(bucket: string, name: string, limits?: manifests.ScopeLimits | null): Promise<string> {
    return this.#change(bucket, (manifest) => manifests.addScope(manifest, name, limits));
  }

  dropScope(bucket: string, name: string): Promise<string> {
    return this.#change(bucket, (manifest) => manifests.dropScope(manifest, name), { freesSpace: true });
  }

  addCollection(bucket: string, scope: string, wanted: { name: string; maxTTL?: number | undefined }) {
    return this.#change(bucket, (manifest) =>
      manifests.addCollection(manifest, scope, wanted, limitsEnforcement(this.#deps.view).isOn),
    );
  }

  dropCollection(bucket: string, scope: string, name: string): Promise<string> {
    return this.#change(bucket, (manifest) => manifests.dropCollection(manifest, scope, name), {
      freesSpace: true,
    });
  }

  changeCollection(bucket: string, scope: string, name: string, maxTTL: number | undefined) {
    return this.#change(bucket, (manifest) => manifests.changeCollection(manifest, scope, name, maxTTL));
  }

  /** `validOnUid` guards against a manifest that changed since the client read it; `check` validates the change. */
  replace(
    bucket: string,
    wanted: readonly manifests.WantedScope[],
    validOnUid: string | undefined,
    check: (before: ManifestState, after: ManifestState) => void,
  ): Promise<string> {
    return this.#change(bucket, (before) => {
      if (validOnUid !== undefined && Number.parseInt(validOnUid, 16) !== Number.parseInt(before.uid, 16)) {
        throw collectionRefusals.otherManifest();
      }
      const after = manifests.replaceManifest(before, wanted);
      check(before, after);
      return after;
    });
  }

  /** Waits until the data service uses a manifest at least this new. */
  async ensure(bucketName: string, uid: number, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { view, data, clock } = this.#deps;
    const bucket = this.#bucket(bucketName);
    const startedMs = clock.monotonicMs();
    const isKnown = () => Number.parseInt(view.manifest(bucket.uuid).uid, 16) >= uid;
    const isGone = () => view.buckets.byUuid[bucket.uuid]?.state !== 'ready';
    const isSeen = await until(view, () => isKnown() || isGone(), timeoutMs, clock, signal);
    if (isGone()) throw collectionRefusals.bucketGone();
    const leftMs = () => Math.max(timeoutMs - (clock.monotonicMs() - startedMs), 0);
    while (isSeen && !(await data.applied(view.latestRevision(), leftMs()))) {
      if (leftMs() === 0 || signal.aborted) throw collectionRefusals.timeout();
      // A node cannot be reached now, perhaps because it is restarting.
      await clock.sleep(Math.min(leftMs(), ensureRetryPauseMs), signal).catch(() => {}); // aborted: seen above
    }
    if (!isSeen) throw collectionRefusals.timeout();
  }

  /** Resolves with the new manifest's uid. */
  async #change(
    bucketName: string,
    change: (manifest: ManifestState) => ManifestState,
    options?: ChangeOptions,
  ): Promise<string> {
    const { store, data } = this.#deps;
    const bucket = this.#bucket(bucketName);
    if (bucket.type === 'cache') throw collectionRefusals.otherBucketType();
    const checked = (before: ManifestState) => {
      const after = change(before);
      this.#checkLimits(bucket, before, after);
      return after;
    };
    const { value, revision } = await this.#changes.run('manifests', () =>
      update(store, manifestKey(bucket.uuid), initialManifest(), checked, options),
    );
    await data.applied(revision, applyWaitMs);
    return value.uid;
  }

  #checkLimits(bucket: StoredBucket, before: ManifestState, after: ManifestState): void {
    const others = this.#deps.view
      .liveBuckets()
      .filter(({ uuid }) => uuid !== bucket.uuid)
      .map(({ uuid }) => manifests.countOf(this.#deps.view.manifest(uuid)));
    const [was, is] = [manifests.countOf(before), manifests.countOf(after)];
    const limits = { scopes: scopeCountMax, collections: collectionCountMax };
    for (const kind of ['scopes', 'collections'] as const) {
      const total = others.reduce((sum, count) => sum + count[kind], is[kind]);
      if (is[kind] > was[kind] && total > limits[kind]) {
        throw collectionRefusals.tooMany({ kind });
      }
    }
  }

  #bucket(name: string): StoredBucket {
    const bucket = this.#deps.view.liveBucket(name);
    if (!bucket) throw generalRefusals.notFound();
    return bucket;
  }
}
