// A small client of the data port, for readiness checks and the documents of an init file: one request at a time.
import { connect, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { type Deferred, deferred } from '#base/deferred.ts';
import { realClock } from '#ports/clock.ts';

const headerBytes = 24;
const temporaryFailure = 0x86;
/** In a reply to OBSERVE: what became of a document, and its CAS. */
const observedStateBytes = 9;
const inMemoryOnly = 0;
const collectionsFeature = 0x12;
const xerrorFeature = 0x07;
const selectFeature = 0x08;

export const Opcode = {
  get: 0x00,
  set: 0x01,
  noop: 0x0a,
  hello: 0x1f,
  saslAuth: 0x21,
  selectBucket: 0x89,
  observe: 0x92,
  getClusterConfig: 0xb5,
  getCollectionId: 0xbb,
} as const;

export interface KvReply {
  status: number;
  extras: Buffer;
  value: Buffer;
}

export interface StoredDocument {
  collectionId: number;
  key: string;
}

interface KvRequest {
  opcode: number;
  vb?: number;
  extras?: Uint8Array;
  key?: Uint8Array | string;
  value?: Uint8Array | string;
}

export class KvClient {
  private readonly socket: Socket;
  private waiting: Deferred<KvReply> | null = null;
  private received = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.feed(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the data port closed the connection')));
  }

  static async open(host: string, port: number, timeoutMs: number, localAddress?: string): Promise<KvClient> {
    const socket = connect({ host, port, ...(localAddress !== undefined && { localAddress }) });
    const { promise, resolve, reject } = deferred<void>();
    socket.once('connect', resolve).once('error', reject);
    socket.setTimeout(timeoutMs, () =>
      socket.destroy(new Error(`no answer from ${host}:${port} in ${timeoutMs} ms`)),
    );
    await promise;
    return new KvClient(socket);
  }

  /** HELLO with collections, then SASL PLAIN. */
  async login(username: string, password: string): Promise<void> {
    const features = Buffer.from(
      [collectionsFeature, xerrorFeature, selectFeature].flatMap((code) => [0, code]),
    );
    await this.expect({ opcode: Opcode.hello, key: '{"a":"divan"}', value: features });
    await this.expect({ opcode: Opcode.saslAuth, key: 'PLAIN', value: `\0${username}\0${password}` });
  }

  /** A bucket that was just made may not be there yet: tries until it is, or the time is over. */
  async select(bucket: string, patienceMs = 0): Promise<void> {
    const deadline = realClock.monotonicMs() + patienceMs;
    for (;;) {
      const { status } = await this.request({ opcode: Opcode.selectBucket, key: bucket });
      if (status === 0) return;
      if (realClock.monotonicMs() >= deadline)
        throw new Error(`bucket "${bucket}": status 0x${status.toString(16)}`);
      await realClock.sleep(5);
    }
  }

  async collectionId(scope: string, collection: string): Promise<number> {
    if (scope === '_default' && collection === '_default') return 0;
    const reply = await this.expect({ opcode: Opcode.getCollectionId, value: `${scope}.${collection}` });
    return reply.extras.readUInt32BE(8);
  }

  get(collectionId: number, key: string): Promise<KvReply> {
    return this.request({ opcode: Opcode.get, vb: vbucketOf(key), key: prefixed(collectionId, key) });
  }

  /** A bucket that loads its documents, or makes room, takes no writes for a while: tries until it does. */
  async set(
    { collectionId, key }: StoredDocument,
    value: Uint8Array,
    expiry: number,
    patienceMs: number,
  ): Promise<void> {
    const extras = Buffer.alloc(8);
    extras.writeUInt32BE(0x02000000); // common flags: JSON
    extras.writeUInt32BE(expiry, 4);
    const request = {
      opcode: Opcode.set,
      vb: vbucketOf(key),
      key: prefixed(collectionId, key),
      extras,
      value,
    };
    const deadline = realClock.monotonicMs() + patienceMs;
    for (;;) {
      const { status } = await this.request(request);
      if (status === 0) return;
      if (status !== temporaryFailure || realClock.monotonicMs() >= deadline)
        throw new Error(`storing "${key}": status 0x${status.toString(16)}`);
      await realClock.sleep(5);
    }
  }

  /** Whether all of them have reached the disk; a node that is asked hurries. */
  async arePersisted(documents: readonly StoredDocument[]): Promise<boolean> {
    const asked = documents.map(observed);
    const { value } = await this.expect({ opcode: Opcode.observe, value: Buffer.concat(asked) });
    let at = 0;
    return asked.every((one) => {
      at += one.length + observedStateBytes;
      return value[at - observedStateBytes] !== inMemoryOnly;
    });
  }

  /** As `request`, but any status other than success is an error. */
  async expect(request: KvRequest): Promise<KvReply> {
    const reply = await this.request(request);
    if (reply.status === 0) return reply;
    const { opcode } = request;
    throw new Error(
      `data port: opcode 0x${opcode.toString(16)} answered status 0x${reply.status.toString(16)}`,
    );
  }

  async request(request: KvRequest): Promise<KvReply> {
    if (this.waiting !== null) throw new Error('a request is under way');
    this.waiting = deferred();
    this.socket.write(encode(request));
    return this.waiting.promise;
  }

  close(): void {
    this.socket.destroy();
  }

  private feed(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    if (this.received.length < headerBytes) return;
    const end = headerBytes + this.received.readUInt32BE(8);
    if (this.received.length < end) return;
    const frame = this.received.subarray(0, end);
    this.received = this.received.subarray(end);
    const waiting = this.waiting;
    this.waiting = null;
    waiting?.resolve(decode(frame));
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = null;
  }
}

function encode(request: KvRequest): Buffer {
  const extras = Buffer.from(request.extras ?? []);
  const key = Buffer.from(request.key ?? []);
  const value = Buffer.from(request.value ?? []);
  const header = Buffer.alloc(headerBytes);
  header[0] = 0x80;
  header[1] = request.opcode;
  header.writeUInt16BE(key.length, 2);
  header[4] = extras.length;
  header.writeUInt16BE(request.vb ?? 0, 6);
  header.writeUInt32BE(extras.length + key.length + value.length, 8);
  return Buffer.concat([header, extras, key, value]);
}

function decode(frame: Buffer): KvReply {
  const extrasStart = headerBytes + (frame[0] === 0x18 ? (frame[2] as number) : 0);
  const keyBytes = frame[0] === 0x18 ? (frame[3] as number) : frame.readUInt16BE(2);
  const extrasEnd = extrasStart + (frame[4] as number);
  return {
    status: frame.readUInt16BE(6),
    extras: frame.subarray(extrasStart, extrasEnd),
    value: frame.subarray(extrasEnd + keyBytes),
  };
}

/** The vbucket of 1,024 that a key belongs to. */
export const vbucketOf = (key: string): number => ((crc32(key) >>> 16) & 0x7fff) % 1024;

/** A document in a request of OBSERVE. */
function observed({ collectionId, key }: StoredDocument): Buffer {
  const name = prefixed(collectionId, key);
  const head = Buffer.alloc(4);
  head.writeUInt16BE(vbucketOf(key));
  head.writeUInt16BE(name.length, 2);
  return Buffer.concat([head, name]);
}

function prefixed(collectionId: number, key: string): Buffer {
  const prefix: number[] = [];
  let left = collectionId;
  do {
    prefix.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    left >>>= 7;
  } while (left > 0);
  return Buffer.concat([Buffer.from(prefix), Buffer.from(key)]);
}
