// A client of one bucket over one connection: pipelined requests. Compressed values are inflated here, not in the data service.
import { deferred } from '#base/deferred.ts';
import { GetAllVbSeqnos, GetCollectionId, GetFailoverLog, GetManifest, Stat } from '#wire/commands/bucket.ts';
import { Add, Delete, Get, Replace, SetDocument } from '#wire/commands/documents.ts';
import { SubdocMultiLookup, SubdocMultiMutation } from '#wire/commands/subdocument.ts';
import { Feature } from '#wire/features.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import { RequestFrame } from '#wire/framing.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { DataPortError, StatusError } from './data-port-error.ts';
import { vbucketCount, vbucketOf } from './document-key.ts';
import { decodeRead, documentRequest, type FetchedDocument } from './fetched-document.ts';
import { itemsGroup, itemsIn } from './item-counts.ts';
import { pipelined } from './pipelined.ts';
import { failoverEntries, seqnosIn, seqnosRequest } from './seqnos.ts';
import {
  decodeFailedWrite,
  decodeReads,
  encodeReads,
  encodeWrites,
  type PathRead,
  type PathResult,
  type PathWrite,
} from './subdoc.ts';
import type { WireAccount, WireAddress } from './wire-address.ts';
import { type RequestSender, WireConnection } from './wire-connection.adapter.ts';
import { casOf } from './wire-reply.ts';

const features = [
  Feature.mutationSeqno,
  Feature.xattr,
  Feature.xerror,
  Feature.selectBucket,
  Feature.snappy,
  Feature.json,
  Feature.unorderedExecution,
  Feature.altRequest,
  Feature.syncReplication,
  Feature.collections,
  Feature.preserveTtl,
  Feature.virtualXattr,
  Feature.createAsDeleted,
  Feature.documentMacro,
  Feature.multipleXattrKeys,
];

/** Common flags of client libraries: JSON. */
export const jsonFlags = 0x02000000;

export interface BucketClientOptions {
  address: WireAddress;
  account: WireAccount;
  bucket: string;
}

export interface FetchedParts {
  cas: bigint;
  /** Deleted documents are returned only if a flag requests them. */
  isDeleted: boolean;
  results: PathResult[];
}

export type DurabilityLevel = 'none' | 'majority' | 'majorityAndPersistActive' | 'persistToMajority';

export interface StoreRequest {
  /** `remove` of a missing document answers keyNotFound. */
  kind: 'add' | 'set' | 'replace' | 'remove';
  key: string;
  value: Uint8Array;
  /** 0n: any CAS. */
  cas: bigint;
  /** Absolute seconds since 1970, 0: none, 'keep': as the document has it. */
  expiry: number | 'keep';
  flags?: number;
  durability?: DurabilityLevel;
  /** Extended attributes and document flags; with these the request is a sub-document mutation. */
  parts?: { writes: readonly PathWrite[]; docFlags: number };
}

/** The position of a change in the history of its vbucket. */
export interface ChangeToken {
  vb: number;
  uuid: bigint;
  seqno: number;
}

export interface StoreReply {
  status: number;
  cas: bigint;
  token: ChangeToken | null;
  /** The status of the sub-document mutation that failed; 0: none. */
  failedPartStatus: number;
}

/** The reply to each request, by its index; undefined if the connection failed before the reply arrived. */
export type PartialReplies = (StoreReply | undefined)[];

/** A connection that has selected the bucket. */
export function openOnBucket({ address, account, bucket }: BucketClientOptions): Promise<WireConnection> {
  return WireConnection.openOnBucket(address, { features, account, bucket });
}

export class BucketClient {
  readonly bucket: string;
  /** Whether the vbuckets of the bucket may be on several nodes. */
  readonly isSpread: boolean = false;
  readonly connection: RequestSender;

  protected constructor(bucket: string, connection: RequestSender) {
    this.bucket = bucket;
    this.connection = connection;
  }

  /**
   * @throws StatusError noBucket or noAccess when the bucket cannot be selected
   * @throws DataPortError without a connection
   */
  static async open(options: BucketClientOptions): Promise<BucketClient> {
    return new BucketClient(options.bucket, await openOnBucket(options));
  }

  get isClosed(): boolean {
    return this.connection.isClosed;
  }

  close(): void {
    this.connection.close();
  }

  /** Resolves with a document, or the status of the refused read, in the order of the keys. */
  async getMany(
    collectionId: number,
    keys: readonly string[],
    signal?: AbortSignal,
  ): Promise<(FetchedDocument | number)[]> {
    const results = new Array<FetchedDocument | number>(keys.length);
    await pipelined(this.connection, {
      count: keys.length,
      signal,
      request: (index) => documentRequest(Get.opcode, collectionId, keys[index] as string),
      receive: (index, frame) => {
        results[index] = decodeRead(frame);
      },
    });
    return results;
  }

  /**
   * Reads the same parts of each document; a missing document or part has a status instead. `docFlags` may ask for deleted documents
   * too.
   */
  async lookupMany(
    collectionId: number,
    keys: readonly string[],
    reads: readonly PathRead[],
    signal?: AbortSignal,
    docFlags = 0,
  ): Promise<(FetchedParts | number)[]> {
    const value = encodeReads(reads);
    const extras = docFlags === 0 ? Buffer.alloc(0) : Buffer.from([docFlags]);
    const results = new Array<FetchedParts | number>(keys.length);
    await pipelined(this.connection, {
      count: keys.length,
      signal,
      request: (index) => ({
        ...documentRequest(SubdocMultiLookup.opcode, collectionId, keys[index] as string),
        extras,
        value,
      }),
      receive: (index, frame) => {
        const status = responseStatus(frame);
        const isDeleted = deletedStatuses.has(status);
        const hasParts = isDeleted || status === Status.success || status === Status.subdocMultiPathFailure;
        results[index] = hasParts ? { cas: casOf(frame), isDeleted, results: decodeReads(frame) } : status;
      },
    });
    return results;
  }

  /** Never rejects for a single document. Writes of one key are applied in order. */
  async storeMany(
    collectionId: number,
    requests: readonly StoreRequest[],
    signal?: AbortSignal,
    replies: PartialReplies = new Array(requests.length),
  ): Promise<StoreReply[]> {
    await pipelined(this.connection, {
      count: requests.length,
      signal,
      request: (index) => storeRequest(collectionId, requests[index] as StoreRequest),
      receive: (index, frame) => {
        replies[index] = storeReply(frame, vbucketOf((requests[index] as StoreRequest).key));
      },
    });
    return replies as StoreReply[];
  }

  /** The latest seqno of every vbucket, of one collection when it is named; 0 where there is none, and of vbuckets that are not active on the node. */
  async highSeqnos(collectionId?: number): Promise<Float64Array> {
    const { value } = await this.connection.expect(seqnosRequest(collectionId));
    const seqnos = new Float64Array(vbucketCount);
    for (const [vb, seqno] of seqnosIn(value)) seqnos[vb] = seqno;
    return seqnos;
  }

  /** The high seqnos of these vbuckets, by vbucket. @throws StatusError notMyVbucket when one of them is not active on the node */
  async highSeqnosOf(vbuckets: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const active = await this.activeSeqnos();
    if (vbuckets.every((vb) => active.has(vb))) return active;
    throw new StatusError(GetAllVbSeqnos.opcode, Status.notMyVbucket);
  }

  /** The high seqnos of the vbuckets that are active on the node, by vbucket. */
  async activeSeqnos(): Promise<ReadonlyMap<number, number>> {
    const { value } = await this.connection.expect(seqnosRequest());
    return new Map(seqnosIn(value));
  }

  /** The failover logs of vbuckets, newest entry first. @throws StatusError when one of them cannot be read */
  async failoverLogs(vbuckets: readonly number[]): Promise<Map<number, { uuid: bigint; seqno: number }[]>> {
    const logs = new Map<number, { uuid: bigint; seqno: number }[]>();
    let failedStatus = 0;
    await pipelined(this.connection, {
      count: vbuckets.length,
      request: (index) => ({ opcode: GetFailoverLog.opcode, vb: vbuckets[index] as number }),
      receive: (index, frame) => {
        const { buffer, valueStart, end } = frame;
        const status = responseStatus(frame);
        if (status === Status.success)
          logs.set(vbuckets[index] as number, failoverEntries(buffer.subarray(valueStart, end)));
        else failedStatus = status;
      },
    });
    if (failedStatus !== 0) throw new StatusError(GetFailoverLog.opcode, failedStatus);
    return logs;
  }

  /** The newest uuid of every vbucket. */
  async uuids(): Promise<BigUint64Array> {
    const uuids = new BigUint64Array(vbucketCount);
    await pipelined(this.connection, {
      count: vbucketCount,
      request: (vb) => ({ opcode: GetFailoverLog.opcode, vb }),
      receive: (vb, frame) => {
        if (responseStatus(frame) === Status.success)
          uuids[vb] = frame.buffer.readBigUInt64BE(frame.valueStart);
      },
    });
    return uuids;
  }

  /** A digest of all vbucket uuids: it is equal as long as none has changed. */
  async historyDigest(): Promise<string> {
    return (await this.stats('histories')).get('histories') ?? '';
  }

  /** Undefined if there is no collection of this name. */
  async collectionId(scope: string, collection: string): Promise<number | undefined> {
    const value = Buffer.from(`${scope}.${collection}`);
    const reply = await this.connection.request({ opcode: GetCollectionId.opcode, value });
    if (reply.status === Status.success) return reply.extras.readUInt32BE(8);
    if (reply.status === Status.unknownScope || reply.status === Status.unknownCollection) return undefined;
    throw new StatusError(GetCollectionId.opcode, reply.status);
  }

  /** Scopes and collections as JSON text. */
  async manifest(): Promise<string> {
    return (await this.connection.expect({ opcode: GetManifest.opcode })).value.toString();
  }

  /** A group of statistics by name. */
  stats(group: string): Promise<ReadonlyMap<string, string>> {
    return this.statsOf(this.connection, group);
  }

  protected statsOf(
    connection: Pick<RequestSender, 'send'>,
    group: string,
  ): Promise<ReadonlyMap<string, string>> {
    const figures = new Map<string, string>();
    const result = deferred<ReadonlyMap<string, string>>();
    connection.send({ opcode: Stat.opcode, key: Buffer.from(group) }, (frame) => {
      if (frame === null) {
        result.reject(new DataPortError('the connection to the data port ended'));
        return true;
      }
      const { buffer, keyStart, valueStart, end } = frame;
      const status = responseStatus(frame);
      if (status !== Status.success) result.reject(new StatusError(Stat.opcode, status));
      else if (keyStart === valueStart) result.resolve(figures);
      else
        figures.set(buffer.toString('utf8', keyStart, valueStart), buffer.toString('utf8', valueStart, end));
      return status !== Status.success || keyStart === valueStart;
    });
    return result.promise;
  }

  /** How many documents a collection has. */
  async itemCount(collectionId: number): Promise<number> {
    return itemsIn(await this.stats(itemsGroup(collectionId)));
  }
}

/** Statuses of replies about deleted documents. */
const deletedStatuses: ReadonlySet<number> = new Set([
  Status.subdocSuccessDeleted,
  Status.subdocMultiPathFailureDeleted,
]);

const opcodes = {
  add: Add.opcode,
  set: SetDocument.opcode,
  replace: Replace.opcode,
  remove: Delete.opcode,
} as const;

function storeRequest(collectionId: number, store: StoreRequest): RequestParts {
  const { kind, key, cas, parts } = store;
  const opcode = parts === undefined ? opcodes[kind] : SubdocMultiMutation.opcode;
  return {
    ...documentRequest(opcode, collectionId, key),
    casHi: Number(cas >> 32n),
    casLo: Number(cas & 0xffffffffn),
    framing: framingOf(store),
    extras: extrasOf(store),
    value: parts === undefined ? store.value : encodeWrites(parts.writes),
  };
}

function extrasOf({ kind, flags = jsonFlags, expiry, parts }: StoreRequest): Buffer {
  const seconds = expiry === 'keep' ? 0 : expiry;
  if (parts !== undefined) {
    const extras = Buffer.alloc(parts.docFlags === 0 ? 4 : 5);
    extras.writeUInt32BE(seconds);
    if (parts.docFlags !== 0) extras[4] = parts.docFlags;
    return extras;
  }
  if (kind === 'remove') return Buffer.alloc(0);
  const extras = Buffer.alloc(8);
  extras.writeUInt32BE(flags);
  extras.writeUInt32BE(seconds, 4);
  return extras;
}

const durabilityCodes = { none: 0, majority: 1, majorityAndPersistActive: 2, persistToMajority: 3 } as const;

function framingOf({ kind, expiry, durability = 'none', parts }: StoreRequest): Buffer {
  const framing: number[] = [];
  if (durability !== 'none') framing.push((RequestFrame.durability << 4) | 1, durabilityCodes[durability]);
  const mayKeep = parts !== undefined || kind === 'set' || kind === 'replace';
  if (expiry === 'keep' && mayKeep) framing.push(RequestFrame.preserveTtl << 4);
  return Buffer.from(framing);
}

function storeReply(frame: Frame, vb: number): StoreReply {
  const { buffer, extrasStart, keyStart } = frame;
  const status = responseStatus(frame);
  const hasFailedPart =
    frame.opcode === SubdocMultiMutation.opcode && status === Status.subdocMultiPathFailure;
  const hasToken = status === Status.success && keyStart - extrasStart >= 16;
  return {
    status,
    cas: casOf(frame),
    token: hasToken
      ? {
          vb,
          uuid: buffer.readBigUInt64BE(extrasStart),
          seqno: Number(buffer.readBigUInt64BE(extrasStart + 8)),
        }
      : null,
    failedPartStatus: hasFailedPart ? decodeFailedWrite(frame).status : 0,
  };
}
