// An index service in the thread of a test, over a data service in the same thread.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BucketClient } from '#client/bucket-client.ts';
import type { IndexReport, WantedIndex } from '#index/index.contract.ts';
import { IndexProgress } from '#index/index-progress.ts';
import { IndexService } from '#index/service/index-service.ts';
import { IndexFolder, IndexFolderReaders } from '#index/store/index-folder.adapter.ts';
import type { IndexStore, StoredRow } from '#index/store/index-store.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { IndexDefinition } from '#sqlpp/datastore/indexes.ts';
import { eventuallyWithin } from './node-process.ts';
import { compileSimply } from './simple-index-language.ts';
import { addressOf, adminAccount } from './wire-clients.ts';

/** Builds of several indexes take more than ten seconds on a machine that runs other tests. */
const buildMs = 60_000;

export class TestIndexes implements AsyncDisposable {
  folder = mkdtempSync(join(tmpdir(), 'divan-indexes-'));
  readers = new IndexFolderReaders(this.folder);
  private wanted: readonly WantedIndex[] = [];
  private readonly port: number;
  private readonly wrapStore: (store: IndexStore) => IndexStore;
  service: IndexService;
  /** Options of index files, from the next start on. */
  fileOptions: { checkedOnOpenRowsMax?: number } = {};

  /** `wrapStore`: adds faults to the store. */
  constructor(port: number, wrapStore: (store: IndexStore) => IndexStore = (store) => store) {
    this.port = port;
    this.wrapStore = wrapStore;
    this.service = this.newService();
  }

  /** Replaces the indexes by these, which are built unless they are deferred. */
  async want(...definitions: readonly IndexDefinition[]): Promise<void> {
    await this.apply(definitions.map((definition) => ({ definition, isBuilt: !definition.isDeferred })));
  }

  async apply(indexes: readonly WantedIndex[]): Promise<void> {
    this.wanted = indexes;
    await this.service.apply({ indexes, memoryQuotaBytes: 512 << 20, place: null });
  }

  reportOf(definition: IndexDefinition): IndexReport | undefined {
    return this.service.report().find(({ id }) => id === definition.id);
  }

  /** All committed rows, in the order of the index. */
  rowsOf({ id, keyspace }: IndexDefinition): readonly StoredRow[] {
    const reader = this.readers.open(keyspace.bucketUuid, id);
    try {
      const everything = { start: Buffer.alloc(0), end: null, accepts: null };
      return reader.page(everything, { after: null, isReverse: false, limit: 1_000_000 });
    } finally {
      reader.close();
    }
  }

  /** Waits until these indexes are built. */
  async online(...definitions: readonly IndexDefinition[]): Promise<void> {
    await eventuallyWithin(buildMs, () => {
      for (const definition of definitions) {
        const report = this.reportOf(definition);
        if (report?.state !== 'online')
          throw new Error(`index ${definition.name}: ${JSON.stringify(report)}`);
      }
    });
  }

  /** Waits until the index has all current changes of the collection, which is its own by default. */
  async caughtUp(
    client: BucketClient,
    definition: IndexDefinition,
    collection = definition.keyspace.collectionId,
  ): Promise<void> {
    const seqnos = await client.highSeqnos(collection);
    const uuids = await client.uuids();
    await eventuallyWithin(buildMs, () => {
      const report = this.reportOf(definition);
      if (report?.state !== 'online' || report.shared === undefined) throw new Error(JSON.stringify(report));
      const progress = new IndexProgress(report.shared);
      for (const [vb, seqno] of seqnos.entries()) {
        if (progress.completeSeqno(vb) < seqno || progress.uuid(vb) !== uuids[vb])
          throw new Error(`vbucket ${vb} is at ${progress.completeSeqno(vb)}, not at ${seqno}`);
      }
    });
  }

  /** Simulates a kill: continues with the files in their current state. */
  async crash(): Promise<void> {
    const left = mkdtempSync(join(tmpdir(), 'divan-indexes-'));
    cpSync(this.folder, left, { recursive: true });
    await this.service.stop();
    rmSync(this.folder, { recursive: true, force: true });
    this.folder = left;
    this.readers = new IndexFolderReaders(left);
    this.service = this.newService();
    await this.apply(this.wanted);
  }

  /** The file of an index, to damage it while the service is stopped. */
  fileOf({ id, keyspace }: IndexDefinition): string {
    return join(this.folder, keyspace.bucketUuid, `${id}.index`);
  }

  /** Stops and restarts the service. */
  async restart(whileStopped = () => {}): Promise<void> {
    await this.service.stop();
    whileStopped();
    this.service = this.newService();
    await this.apply(this.wanted);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private newService(): IndexService {
    return new IndexService({
      address: addressOf(this.port),
      account: adminAccount,
      store: this.wrapStore(new IndexFolder(this.folder, silentLog, this.fileOptions)),
      compile: compileSimply,
      clock: realClock,
      random: realRandom,
      log: silentLog,
      changed: () => {},
    });
  }
}
