// The disk engine over SQLite files, spread over lanes by file number. The first lane also keeps the folders. Single
// documents and histories are read in a lane of their own, which starts when the first is asked for.

import type { DataFileSpec } from './adapters/file-format.ts';
import { firstPage } from './adapters/page-reader.ts';
import {
  addSizes,
  type BackfillPage,
  type BucketFiles,
  type CollectionKeysOrder,
  type CompactOptions,
  type CompactResult,
  type CutBuffer,
  DamagedFileError,
  type DiskEngine,
  type DiskSizes,
  type Fetched,
  type LargeItems,
  type LoadedValues,
  type OpenResult,
} from './engine.ts';
import type { Lane } from './lane.ts';
import { Compactions } from './lane-compactions.ts';
import { decodeWants, encodeWants, type Want } from './wants.ts';

const noKey = Buffer.alloc(0);

export class LaneEngine implements DiskEngine {
  private readonly lanes: readonly Lane[];
  private readonly folderLane: Lane;
  private readonly readLane: Lane;
  private readonly compactions: Compactions;
  private readonly buckets = new Map<string, BucketFiles>();
  /** By bucket, what its files are at present; those of buckets that were read from are open in the read lane. */
  private readonly specs = new Map<string, readonly DataFileSpec[]>();
  private readonly readFrom = new Set<string>();

  /** `copyLane` starts a lane for the copying of compactions; without one the file's own lane does it. */
  constructor(
    lanes: readonly [Lane, ...Lane[]],
    readLane: Lane = lanes[0],
    copyLane: (() => Lane) | null = null,
  ) {
    this.lanes = lanes;
    this.folderLane = lanes[0];
    this.readLane = readLane;
    this.compactions = new Compactions(copyLane);
  }

  async open(files: BucketFiles): Promise<OpenResult> {
    if (this.buckets.has(files.bucketUuid)) throw new Error(`bucket ${files.bucketUuid} is open already`);
    this.buckets.set(files.bucketUuid, files);
    try {
      return await this.openFiles(files.bucketUuid, await this.folderLane.call('prepare', files));
    } catch (error) {
      if (error instanceof DamagedFileError) return allDamaged(files, error);
      this.buckets.delete(files.bucketUuid);
      throw error;
    }
  }

  /** Asks for the next page while one is consumed: at most two are in memory. */
  async load(
    bucketUuid: string,
    file: number,
    consume: (batch: CutBuffer) => void | Promise<void>,
    values: () => LoadedValues = () => 'all',
  ): Promise<void> {
    const lane = this.laneOf(file);
    let page = await lane.call('loadPage', bucketUuid, file, firstPage, values());
    for (;;) {
      const following = page.next && lane.call('loadPage', bucketUuid, file, page.next, values());
      // Its rejection is seen below, unless `consume` throws first.
      following?.catch(() => {});
      if (page.batch.length > 0) await consume(page.batch);
      if (following === null) return;
      page = await following;
    }
  }

  async commit(bucketUuid: string, file: number, cuts: CutBuffer): Promise<void> {
    await this.laneOf(file).call('commit', bucketUuid, file, cuts);
  }

  async expiredKeys(bucketUuid: string, file: number, before: number, limit: number): Promise<Want[]> {
    const found = await this.read(bucketUuid, file, (spec) =>
      this.readLane.call('expiredKeys', spec, before, limit),
    );
    return decodeWants(found);
  }

  async collectionKeys(bucketUuid: string, file: number, order: CollectionKeysOrder): Promise<Want[]> {
    const { prefix, after, limit } = order;
    const place = encodeWants([after ?? { vb: 0, key: noKey }]);
    const found = await this.read(bucketUuid, file, (spec) =>
      this.readLane.call('collectionKeys', spec, prefix, place, limit),
    );
    return decodeWants(found);
  }

  async fetchItems(bucketUuid: string, file: number, wants: readonly Want[]): Promise<Fetched> {
    return await this.read(bucketUuid, file, (spec) =>
      this.readLane.call('fetchItems', spec, encodeWants(wants)),
    );
  }

  async largeItems(bucketUuid: string, file: number, after: number): Promise<LargeItems> {
    return await this.read(bucketUuid, file, (spec) => this.readLane.call('largeItems', spec, after));
  }

  async backfill(bucketUuid: string, file: number, vb: number, afterSeqno: number): Promise<BackfillPage> {
    return await this.read(bucketUuid, file, (spec) =>
      this.readLane.call('backfillPage', spec, vb, afterSeqno),
    );
  }

  async reset(bucketUuid: string, incarnation: number): Promise<void> {
    const files = { ...this.filesOf(bucketUuid), incarnation };
    await this.compactions.callOff(bucketUuid);
    await this.closeReaders(bucketUuid);
    await this.eachLane((lane) => lane.call('close', bucketUuid, false));
    const { damaged } = await this.openFiles(bucketUuid, await this.folderLane.call('renew', files));
    this.buckets.set(bucketUuid, files);
    if (damaged[0] !== undefined) throw new DamagedFileError(damaged[0]);
  }

  async sizes(bucketUuid: string): Promise<DiskSizes> {
    this.filesOf(bucketUuid);
    return addSizes(await this.eachLane((lane) => lane.call('sizes', bucketUuid)));
  }

  async compact(bucketUuid: string, file: number, options: CompactOptions): Promise<CompactResult> {
    this.filesOf(bucketUuid);
    const { spec, ...result } = await this.compactions.run(this.laneOf(file), bucketUuid, file, options);
    this.replaceSpec(bucketUuid, spec);
    return result;
  }

  async close(bucketUuid: string, clean = true): Promise<void> {
    this.filesOf(bucketUuid);
    this.buckets.delete(bucketUuid);
    await this.compactions.callOff(bucketUuid);
    await this.closeReaders(bucketUuid);
    await this.eachLane((lane) => lane.call('close', bucketUuid, clean));
  }

  async destroy(files: BucketFiles): Promise<void> {
    if (this.buckets.delete(files.bucketUuid)) {
      await this.compactions.callOff(files.bucketUuid);
      await this.closeReaders(files.bucketUuid);
      await this.eachLane((lane) => lane.call('close', files.bucketUuid, false));
    }
    await this.folderLane.call('remove', files.folder);
  }

  async stop(): Promise<void> {
    const open = [...this.buckets.keys()];
    this.buckets.clear();
    this.specs.clear();
    await Promise.all(open.map((bucketUuid) => this.compactions.callOff(bucketUuid)));
    if (!this.lanes.includes(this.readLane)) await this.readLane.stop();
    await this.eachLane((lane) => lane.stop());
  }

  private async openFiles(bucketUuid: string, specs: readonly DataFileSpec[]): Promise<OpenResult> {
    this.specs.set(bucketUuid, specs);
    const results = await this.eachLane((lane) =>
      lane.call(
        'open',
        specs.filter((spec) => this.laneOf(spec.file) === lane),
      ),
    );
    return {
      opened: results.flatMap((result) => result.opened).sort((a, b) => a.file - b.file),
      damaged: results.flatMap((result) => result.damaged).sort((a, b) => a.file - b.file),
    };
  }

  /** From here on reads open the new file. Those under way may still read the old one, which is gone by name only. */
  private replaceSpec(bucketUuid: string, spec: DataFileSpec): void {
    const specs = this.specs.get(bucketUuid);
    if (!specs) return;
    this.specs.set(
      bucketUuid,
      specs.map((old) => (old.file === spec.file ? spec : old)),
    );
    if (this.readFrom.has(bucketUuid)) this.readLane.call('closeReaders', bucketUuid).catch(() => {});
  }

  /** Reads through the read lane, again when the file was replaced before the lane had opened it. */
  private async read<T>(
    bucketUuid: string,
    file: number,
    act: (spec: DataFileSpec) => Promise<T>,
  ): Promise<T> {
    const spec = this.specToRead(bucketUuid, file);
    try {
      return await act(spec);
    } catch (error) {
      const present = this.specToRead(bucketUuid, file);
      if (present === spec) throw error;
      return await act(present);
    }
  }

  private specToRead(bucketUuid: string, file: number): DataFileSpec {
    const spec = this.specs.get(bucketUuid)?.find((candidate) => candidate.file === file);
    if (spec === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    this.readFrom.add(bucketUuid);
    return spec;
  }

  /** Before its files are replaced or closed. Fetches that come later fail. */
  private async closeReaders(bucketUuid: string): Promise<void> {
    this.specs.delete(bucketUuid);
    if (this.readFrom.delete(bucketUuid)) await this.readLane.call('closeReaders', bucketUuid);
  }

  /** Waits for all lanes even when one rejects, so that nothing of the call is still going on afterwards. */
  private async eachLane<T>(act: (lane: Lane) => Promise<T>): Promise<T[]> {
    const settled = await Promise.allSettled(this.lanes.map(act));
    return settled.map((result) => {
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  private laneOf(file: number): Lane {
    return this.lanes[file % this.lanes.length] as Lane;
  }

  private filesOf(bucketUuid: string): BucketFiles {
    const files = this.buckets.get(bucketUuid);
    if (files === undefined) throw new Error(`bucket ${bucketUuid} is not open`);
    return files;
  }
}

function allDamaged(files: BucketFiles, { path, reason }: DamagedFileError): OpenResult {
  const numbers = Array.from({ length: files.fileCount }, (_, file) => file);
  return { opened: [], damaged: numbers.map((file) => ({ file, path, reason })) };
}
