// Restores the documents of one bucket to their captured versions.
import { BucketClient } from '#client/bucket-client.ts';
import { ChangeConnection, type ChangeHandler } from '#client/change-connection.ts';
import { DataPortError } from '#client/data-port-error.ts';
import { vbucketCount } from '#client/document-key.ts';
import { KvClient } from '#client/kv.adapter.ts';
import { pipelined } from '#client/pipelined.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import { realClock } from '#ports/clock.ts';
import { ObserveSeqno } from '#wire/commands/bucket.ts';
import { EndReason } from '#wire/dcp.ts';
import type { TestBucketOptions } from '../types.ts';
import { idOf, renewedExpiry, restoringWrites, type Version, versionOf, write } from './documents.ts';

export interface ResetBucket {
  address: WireAddress;
  account: WireAccount;
  bucket: string;
}

/** Ids of the bucket's collections by `scope.collection`. */
export type CollectionIds = ReadonlyMap<string, number>;

interface Changes {
  /** The newest version of each key that has changed since the last read. */
  changed: Map<string, Version>;
  /** The bucket has another history, so `changed` has all its documents. */
  isWhole: boolean;
}

/** Stores the configured documents of a bucket without change streams. */
export async function storeConfigured(
  { address, account, bucket }: ResetBucket,
  { documents = [] }: TestBucketOptions,
  collections: CollectionIds,
): Promise<void> {
  const client = await KvClient.open(address.host, address.port, address.timeoutMs);
  try {
    await client.login(account.username, account.password);
    await client.select(bucket, address.timeoutMs);
    for (const { key, value, scope = '_default', collection = '_default', expiry = 0 } of documents) {
      const collectionId = collections.get(`${scope}.${collection}`) ?? 0;
      await client.set({ collectionId, key }, Buffer.from(JSON.stringify(value)), expiry, address.timeoutMs);
    }
  } finally {
    client.close();
  }
}

export class BucketDocuments {
  private readonly target: ResetBucket;
  private readonly captured = new Map<string, Version>();
  private capturedMs = 0;
  private collections: CollectionIds = new Map();
  /** The seqno up to which each vbucket was read, and the uuid of its history. */
  private readonly seqnos = new Float64Array(vbucketCount);
  private readonly uuids = new BigUint64Array(vbucketCount);
  private historyDigest = '';

  constructor(target: ResetBucket) {
    this.target = target;
  }

  async capture(collections: CollectionIds): Promise<void> {
    this.capturedMs = realClock.wallMs();
    this.collections = collections;
    await this.withClient(async (client) => {
      const { changed } = await this.readChanges(client, collections);
      for (const [id, version] of changed) if (!version.isDeleted) this.captured.set(id, version);
    });
  }

  /** Makes the next `restore` read all documents of the bucket, not only changes since the last read. Call after the bucket was created again. */
  readAllNext(): void {
    this.historyDigest = '';
  }

  /** False when a document cannot be changed now, because it is locked or has a durable write in progress: the bucket must be flushed. */
  async restore(collections: CollectionIds): Promise<boolean> {
    const recreated = new Set(
      [...collections.keys()].filter((name) => this.collections.get(name) !== collections.get(name)),
    );
    this.collections = collections;
    try {
      return await this.withClient((client) => this.undoChanges(client, collections, recreated));
    } catch (error) {
      // Changes that were read but not undone would not be read again.
      this.readAllNext();
      throw error;
    }
  }

  private async undoChanges(
    client: BucketClient,
    collections: CollectionIds,
    recreated: ReadonlySet<string>,
  ): Promise<boolean> {
    const { changed, isWhole } = await this.readChanges(client, collections);
    const writes = restoringWrites(
      this.captured,
      changed,
      ({ collection }) => isWhole || recreated.has(collection),
    );
    const nowMs = realClock.wallMs();
    const expiryOf = (version: Version) => renewedExpiry(version, this.capturedMs, nowMs);
    return (await write(client, writes, collections, expiryOf)).length === 0;
  }

  private async withClient<T>(use: (client: BucketClient) => Promise<T>): Promise<T> {
    const client = await BucketClient.open(this.target);
    try {
      return await use(client);
    } finally {
      client.close();
    }
  }

  private async readChanges(client: BucketClient, collections: CollectionIds): Promise<Changes> {
    const [digest, ends] = await Promise.all([client.historyDigest(), client.highSeqnos()]);
    const isWhole = digest !== this.historyDigest;
    if (isWhole) {
      this.seqnos.fill(0);
      this.uuids.fill(0n);
    }
    this.historyDigest = digest;
    const lagging = [...ends.keys()].filter((vb) => (ends[vb] as number) > (this.seqnos[vb] as number));
    if (lagging.length === 0) return { changed: new Map(), isWhole };
    await requestPersistence(client, lagging, this.uuids);
    return { changed: await this.readStreams(lagging, ends, collections), isWhole };
  }

  private async readStreams(
    vbuckets: readonly number[],
    ends: Float64Array,
    collections: CollectionIds,
  ): Promise<Map<string, Version>> {
    const names = new Map([...collections].map(([name, id]) => [id, name]));
    const changed = new Map<string, Version>();
    const finished = Promise.withResolvers<void>();
    let openStreams = vbuckets.length;
    const handler: ChangeHandler = {
      opened: (vb, [newest]) => void (this.uuids[vb] = newest?.uuid ?? 0n),
      change: (change) => {
        const name = names.get(change.collectionId);
        if (name === undefined) return; // of a dropped collection, or of a system collection
        const version = versionOf(change, name);
        changed.set(idOf(version), version);
      },
      ended: (vb, reason) => {
        if (reason !== EndReason.finished)
          finished.reject(new DataPortError(`vbucket ${vb}: stream end ${reason}`));
        this.seqnos[vb] = ends[vb] as number;
        if (--openStreams === 0) finished.resolve();
      },
      snapshot: () => {},
      advanced: () => {},
      event: () => {},
      drained: () => {},
    };
    const streams = await ChangeConnection.open({
      ...this.target,
      name: `divan-testing-${process.pid}`,
      withXattrs: true,
      handler,
    });
    try {
      const connectionLost = streams.closed.then((error) => Promise.reject(error));
      await Promise.race([this.request(streams, vbuckets, ends, finished.promise), connectionLost]);
    } finally {
      streams.close();
    }
    return changed;
  }

  private async request(
    streams: ChangeConnection,
    vbuckets: readonly number[],
    ends: Float64Array,
    finished: Promise<void>,
  ): Promise<void> {
    const replies = vbuckets.map((vb) => {
      const seqno = this.seqnos[vb] as number;
      const from = { uuid: this.uuids[vb] as bigint, seqno, snapshotStart: seqno, snapshotEnd: seqno };
      return streams.request(vb, { from, until: ends[vb] as number });
    });
    const refused = (await Promise.all(replies)).find(({ kind }) => kind !== 'open');
    if (refused !== undefined) throw new DataPortError(`a stream was refused: ${JSON.stringify(refused)}`);
    await finished;
  }
}

/**
 * Makes the node persist changes at once instead of some 80 ms later: streams read them from disk. The replies are ignored, because the
 * streams wait for the disk.
 */
async function requestPersistence(
  client: BucketClient,
  vbuckets: readonly number[],
  uuids: BigUint64Array,
): Promise<void> {
  await pipelined(client.connection, {
    count: vbuckets.length,
    request: (index) => {
      const vb = vbuckets[index] as number;
      const value = Buffer.alloc(8);
      value.writeBigUInt64BE(uuids[vb] as bigint);
      return { opcode: ObserveSeqno.opcode, vb, value };
    },
    receive: () => {},
  });
}
