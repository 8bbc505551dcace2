// Installs sample buckets: accepts requests, keeps a record of each load until it is complete, and continues interrupted ones.
import { AppError } from '#contract/errors.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { bucketQuotasMb } from '../buckets/bucket-rules/read-bucket.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { WatchedSetting } from '../config/watched-setting.ts';
import type { EventLog } from '../events/event-log.ts';
import { sampleRefusals } from '../refusals/samples.refusals.ts';
import type { SampleBucket } from './sample-bucket.ts';
import type { SampleLoader } from './sample-loader.ts';
import { isLoading, type SampleLoad, type SampleLoads, withLoad, withoutLoad } from './sample-loads.ts';

export interface SamplesDeps {
  readonly view: ClusterView;
  readonly nodeId: string;
  readonly loads: WatchedSetting<SampleLoads>;
  readonly loader: SampleLoader;
  readonly events: Pick<EventLog, 'record'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A change of the record of a load that could not be stored is repeated after this time. */
const retryPauseMs = 5_000;
/** The memory quota of the bucket of a sample on each data node. */
const sampleQuotaMb = 100;
const mib = 1024 * 1024;

/** The module of a sample is imported only when the sample is installed. */
const samples: Readonly<Record<string, () => Promise<SampleBucket>>> = {
  'travel-sample': async () => (await import('./travel/travel-sample.ts')).travelSample,
};

export class SamplesService {
  readonly #deps: SamplesDeps;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(deps: SamplesDeps) {
    this.#deps = deps;
  }

  /** Continues what this node was loading when it stopped. */
  resume(): void {
    const { loads, nodeId } = this.#deps;
    for (const [name, load] of Object.entries(loads.value.byName)) {
      if (load.nodeId === nodeId && load.state === 'loading')
        this.#run(name, () => this.#resumed(name, load));
    }
  }

  /** Interrupts all loads of this node. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  list() {
    return Object.keys(samples).map((name) => ({
      name,
      installed: this.#deps.view.liveBucket(name) !== undefined && this.#unfinished(name) === undefined,
      quotaNeeded: sampleQuotaMb * mib,
    }));
  }

  tasks(): Record<string, unknown>[] {
    const { loads, view } = this.#deps;
    return Object.entries(loads.value.byName)
      .filter(([, load]) => isLoading(load, view.activeNodes))
      .map(([name, { nodeId }]) => ({
        type: 'loadingSampleBucket',
        status: 'running',
        bucket: name,
        pid: nodeId,
      }));
  }

  /** Resolves when the buckets exist; collections, documents and indexes follow. */
  async install(body: unknown): Promise<void> {
    const names = [...new Set(namesIn(body))];
    const problems = names.flatMap((name) => this.#problem(name) ?? []);
    if (problems.length > 0) throw sampleRefusals.notInstalled(problems);
    this.#checkQuota(names.filter((name) => this.#unfinished(name) === undefined).length);
    for (const name of names) {
      const bucket = await this.#created(name, await this.#recorded(name));
      this.#run(name, async () => bucket);
    }
  }

  #problem(name: string): string | null {
    const { view } = this.#deps;
    const load = this.#unfinished(name);
    if (load !== undefined) return isLoading(load, view.activeNodes) ? beingLoaded(name) : null;
    const bucket = this.#bucketNamed(name);
    if (bucket?.state === 'deleting') return `Sample bucket ${name} is being deleted.`;
    if (bucket !== undefined) return `Sample bucket ${name} is already loaded.`;
    return Object.hasOwn(samples, name) ? null : `Sample ${name} is not a valid sample.`;
  }

  #checkQuota(count: number): void {
    const { buckets } = this.#deps.view;
    const quota = count * sampleQuotaMb;
    if (buckets.memoryQuotaMb - bucketQuotasMb(buckets, null) < quota)
      throw sampleRefusals.noQuota({ quota });
  }

  /** The load of this sample, unless it is complete: its bucket exists or is still to be created. */
  #unfinished(name: string): SampleLoad | undefined {
    const { loads, view } = this.#deps;
    const { byName } = loads.value;
    const load = Object.hasOwn(byName, name) ? byName[name] : undefined;
    if (load === undefined) return undefined;
    if (load.bucketUuid === null) return isLoading(load, view.activeNodes) ? load : undefined;
    return view.buckets.byUuid[load.bucketUuid]?.state === 'ready' ? load : undefined;
  }

  #bucketNamed(name: string): StoredBucket | undefined {
    const lower = name.toLowerCase();
    const buckets = Object.values(this.#deps.view.buckets.byUuid);
    return buckets.find((bucket) => bucket.name.toLowerCase() === lower);
  }

  /** Written before the bucket is created, so that the load is continued after a crash. */
  async #recorded(name: string): Promise<SampleLoad> {
    const { loads, nodeId, view } = this.#deps;
    const bucketUuid = this.#unfinished(name)?.bucketUuid ?? null;
    const load: SampleLoad = { nodeId, state: 'loading', bucketUuid };
    await loads.change((before) => {
      const other = Object.hasOwn(before.byName, name) ? before.byName[name] : undefined;
      if (other !== undefined && isLoading(other, view.activeNodes))
        throw sampleRefusals.notInstalled([beingLoaded(name)]);
      return withLoad(before, name, load);
    });
    return load;
  }

  /** Creates the bucket. If it is refused, no record is left. */
  async #created(name: string, load: SampleLoad): Promise<StoredBucket> {
    const { loads, loader, view } = this.#deps;
    try {
      return await loader.bucketOf(name, load.bucketUuid, sampleQuotaMb);
    } catch (error) {
      if (load.bucketUuid !== null) throw error;
      // An error that is no refusal may come after the bucket was created. After a refusal a bucket of this name is somebody else's.
      const created = error instanceof AppError ? undefined : view.liveBucket(name);
      if (created !== undefined) return created;
      const removal = (before: SampleLoads) => withoutLoad(before, name);
      await loads.change(removal).catch(() => this.#track(this.#changed(name, removal)));
      throw error;
    }
  }

  /** If the load has no bucket id, a bucket of this name is one that the load created: it was accepted because there was none. */
  async #resumed(name: string, load: SampleLoad): Promise<StoredBucket> {
    const bucketUuid = load.bucketUuid ?? this.#deps.view.liveBucket(name)?.uuid ?? null;
    return await this.#created(name, { ...load, bucketUuid });
  }

  #run(name: string, bucket: () => Promise<StoredBucket>): void {
    this.#track(this.#load(name, bucket));
  }

  /** Has `stop` wait for this work. `work` must not reject. */
  #track(work: Promise<void>): void {
    const running = work.finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #load(name: string, bucket: () => Promise<StoredBucket>): Promise<void> {
    const { loader, log, events, nodeId } = this.#deps;
    const { signal } = this.#stopping;
    try {
      const sample = samples[name];
      if (sample === undefined) throw new Error('this version has no such sample');
      const created = await bucket();
      const load: SampleLoad = { nodeId, state: 'loading', bucketUuid: created.uuid };
      await this.#changed(name, (before) => withLoad(before, name, load));
      const loaded = await loader.load(created, await sample(), signal);
      await this.#changed(name, (before) => withoutLoad(before, name));
      log.info('sample.loaded', { bucket: name, ...loaded });
      events.record('sample_loaded', { bucket: name, indexes: loaded.indexes });
    } catch (error) {
      // The record stays, so that the node continues after its start.
      if (signal.aborted) return;
      await this.#failed(name, (error as Error).message);
    }
  }

  /** Repeats the change until it is stored, or the node stops: a bucket whose record lacks its id would count as loaded. Never rejects. */
  async #changed(name: string, next: (before: SampleLoads) => SampleLoads): Promise<void> {
    const { loads, clock, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await loads.change(next);
        return;
      } catch (error) {
        const reason = (error as Error).message;
        if (attempt === 1) log.warn('sample.not_recorded', { bucket: name, reason });
        await clock.sleep(retryPauseMs, signal).catch(() => {});
      }
    }
  }

  async #failed(name: string, reason: string): Promise<void> {
    const { log, events, nodeId } = this.#deps;
    log.warn('sample.load_failed', { bucket: name, reason });
    events.record('sample_load_failed', { bucket: name, reason });
    const failed = (before: SampleLoads): SampleLoads => {
      const load = before.byName[name];
      return load?.nodeId === nodeId ? withLoad(before, name, { ...load, state: 'failed' }) : before;
    };
    await this.#changed(name, failed);
  }
}

const beingLoaded = (name: string): string => `Sample bucket ${name} is being loaded.`;

function namesIn(body: unknown): string[] {
  const isList = Array.isArray(body) && body.every((name) => typeof name === 'string');
  if (!isList) throw sampleRefusals.notAList();
  return body;
}
