// Records changes of this node's buckets by comparing their state with the previous one.
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { EventLog } from './event-log.ts';

export interface BucketWatchDeps {
  events: EventLog;
  view: Pick<ClusterView, 'liveBuckets' | 'onChange'>;
  data: Pick<DataService, 'measured' | 'onChange'>;
}

interface KnownBucket {
  name: string;
  state: string;
  problems: readonly string[];
}

export class BucketWatch {
  readonly #deps: BucketWatchDeps;
  readonly #known = new Map<string, KnownBucket>();
  #subscriptions: { stop(): void }[] = [];

  constructor(deps: BucketWatchDeps) {
    this.#deps = deps;
  }

  /** Begins to record changes. Buckets that exist at the start are not recorded as created. */
  start(): void {
    const { view, data } = this.#deps;
    for (const { uuid, name } of view.liveBuckets()) this.#known.set(uuid, { name, state: '', problems: [] });
    this.#subscriptions = [view.onChange(() => this.#compareAll()), data.onChange(() => this.#compareAll())];
    this.#compareAll();
  }

  stop(): void {
    for (const subscription of this.#subscriptions.splice(0)) subscription.stop();
  }

  #compareAll(): void {
    const { view, events } = this.#deps;
    const live = view.liveBuckets();
    const uuids = new Set(live.map(({ uuid }) => uuid));
    for (const [uuid, { name }] of this.#known) {
      if (uuids.has(uuid)) continue;
      this.#known.delete(uuid);
      events.record('bucket_deleted', { bucket: name, bucket_uuid: uuid });
    }
    for (const { uuid, name } of live) this.#compare(uuid, name);
  }

  #compare(uuid: string, name: string): void {
    const { data, events } = this.#deps;
    const attributes = { bucket: name, bucket_uuid: uuid };
    const before = this.#known.get(uuid);
    if (!before) events.record('bucket_created', attributes);
    const now = data.measured(uuid);
    const { state, problems } = now ?? before ?? { state: '', problems: [] };
    this.#known.set(uuid, { name, state, problems });
    if (state === 'ready' && before?.state !== 'ready') events.record('bucket_online', attributes);
    const isOffline = state === 'failed' || (state === 'warmup' && before?.state === 'ready');
    if (isOffline && before?.state !== state) events.record('bucket_offline', attributes);
    for (const problem of problems)
      if (!before?.problems.includes(problem))
        events.record('bucket_trouble', { ...attributes, trouble: problem });
  }
}
