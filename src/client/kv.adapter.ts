// A simple client of the data port for readiness checks and init files: one request at a time.
import { realClock } from '#ports/clock.ts';
import { GetCollectionId, Observe } from '#wire/commands/bucket.ts';
import { Get, SetDocument } from '#wire/commands/documents.ts';
import { Feature } from '#wire/features.ts';
import type { RequestParts } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { documentKey, vbucketOf } from './document-key.ts';
import { WireConnection } from './wire-connection.adapter.ts';
import type { WireReply } from './wire-reply.ts';

/** A document in a reply to OBSERVE: state and CAS. */
const observedStateBytes = 9;
const inMemoryOnly = 0;
/** Common flags of client libraries: JSON. */
const jsonFlags = 0x02000000;
const features = [Feature.collections, Feature.xerror, Feature.selectBucket];

export interface StoredDocument {
  collectionId: number;
  key: string;
}

export class KvClient {
  private readonly connection: WireConnection;

  private constructor(connection: WireConnection) {
    this.connection = connection;
  }

  static async open(host: string, port: number, timeoutMs: number, localAddress?: string): Promise<KvClient> {
    return new KvClient(await WireConnection.open({ host, port, timeoutMs, localAddress }));
  }

  /** Sends HELLO with collections, then SASL PLAIN. */
  async login(username: string, password: string): Promise<void> {
    await this.connection.hello(features);
    await this.connection.authenticate({ username, password });
  }

  /** Retries until the bucket exists or the time is over: the data service may not have created a new bucket yet. */
  async select(bucket: string, timeoutMs = 0): Promise<void> {
    const deadlineMs = realClock.monotonicMs() + timeoutMs;
    for (;;) {
      const status = await this.connection.selectBucket(bucket);
      if (status === Status.success) return;
      if (realClock.monotonicMs() >= deadlineMs)
        throw new Error(`bucket "${bucket}": status 0x${status.toString(16)}`);
      await realClock.sleep(5);
    }
  }

  async collectionId(scope: string, collection: string): Promise<number> {
    if (scope === '_default' && collection === '_default') return 0;
    const value = Buffer.from(`${scope}.${collection}`);
    const reply = await this.expect({ opcode: GetCollectionId.opcode, value });
    return reply.extras.readUInt32BE(8);
  }

  get(collectionId: number, key: string): Promise<WireReply> {
    return this.request({ opcode: Get.opcode, vb: vbucketOf(key), key: documentKey(collectionId, key) });
  }

  /** False for a key that another node of the cluster serves. */
  async isServed(key: string): Promise<boolean> {
    return (await this.get(0, key)).status !== Status.notMyVbucket;
  }

  /** Retries temporary failures, which a bucket answers while it warms up or frees memory. */
  async set(
    { collectionId, key }: StoredDocument,
    value: Uint8Array,
    expiry: number,
    timeoutMs: number,
  ): Promise<void> {
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(jsonFlags);
    extras.writeUInt32BE(expiry, 4);
    const request = {
      opcode: SetDocument.opcode,
      vb: vbucketOf(key),
      key: documentKey(collectionId, key),
      extras,
      value,
    };
    const deadlineMs = realClock.monotonicMs() + timeoutMs;
    for (;;) {
      const { status } = await this.request(request);
      if (status === Status.success) return;
      if (status !== Status.temporaryFailure || realClock.monotonicMs() >= deadlineMs)
        throw new Error(`storing "${key}": status 0x${status.toString(16)}`);
      await realClock.sleep(5);
    }
  }

  /** Whether all documents are persisted; the request makes the node flush at once. */
  async arePersisted(documents: readonly StoredDocument[]): Promise<boolean> {
    const entries = documents.map(observeEntry);
    const { value } = await this.expect({ opcode: Observe.opcode, value: Buffer.concat(entries) });
    let stateEnd = 0;
    return entries.every((entry) => {
      stateEnd += entry.length + observedStateBytes;
      return value[stateEnd - observedStateBytes] !== inMemoryOnly;
    });
  }

  /** Like `request`, but rejects for any status other than success. */
  expect(request: RequestParts): Promise<WireReply> {
    return this.connection.expect(request);
  }

  request(request: RequestParts): Promise<WireReply> {
    return this.connection.request(request);
  }

  close(): void {
    this.connection.close();
  }
}

/** A document in a request of OBSERVE. */
function observeEntry({ collectionId, key }: StoredDocument): Buffer {
  const name = documentKey(collectionId, key);
  const head = Buffer.alloc(4);
  head.writeUInt16BE(vbucketOf(key));
  head.writeUInt16BE(name.length, 2);
  return Buffer.concat([head, name]);
}
