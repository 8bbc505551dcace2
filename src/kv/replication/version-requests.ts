// Asks the active of a shard for the versions of keys that a rollback needs, some keys at a time, one request at a time.
import { type Deferred, deferred } from '#base/deferred.ts';
import type { Clock } from '#ports/clock.ts';
import { CutReader } from '../data/cut.ts';
import { encodeKeys } from '../data/document-keys.ts';
import type { SentVersions, ShardRef } from './frames.ts';
import type { PeerConnections } from './peers.ts';

/** Keys of one request: about 16 KiB. */
export const keysMax = 512;
/** An active that does not answer for this long is asked no more. */
const answerTimeoutMs = 10_000;

export interface VersionRequestsOptions {
  peers: Pick<PeerConnections, 'send'>;
  limits: { readonly bytes: number };
  clock: Clock;
}

export interface WantedKeys {
  readonly vb: number;
  /** The versions at or below this seqno are requested. */
  readonly upTo: number;
  readonly keys: readonly Buffer[];
}

export interface FoundVersions {
  /** The versions, encoded as cuts; each buffer owns its memory. */
  readonly batches: readonly Buffer[];
  /** The highest seqno of the keys whose version is above `upTo`; 0: there is none. */
  readonly newest: number;
  readonly documents: number;
}

interface Answer {
  readonly message: SentVersions;
  readonly body: Buffer;
}

interface Waiting {
  readonly node: string;
  readonly request: number;
  readonly answer: Deferred<Answer>;
}

/** Numbers the requests of this process. */
let requests = 0;

export class VersionRequests {
  private readonly options: VersionRequestsOptions;
  private waiting: Waiting | null = null;
  private isClosed = false;

  constructor(options: VersionRequestsOptions) {
    this.options = options;
  }

  /**
   * Null: the versions are too large, or the active has purged deletions above `upTo`.
   * @throws Error when the active does not answer.
   */
  async versions(
    { node, ...shard }: ShardRef & { node: string },
    wanted: WantedKeys,
  ): Promise<FoundVersions | null> {
    const { keys, upTo } = wanted;
    const batches: Buffer[] = [];
    let [answered, bytes, documents, newest] = [0, 0, 0, 0];
    while (answered < keys.length) {
      const { body, message } = await this.ask(node, shard, {
        ...wanted,
        keys: keys.slice(answered, answered + keysMax),
      });
      if (message.answered === 0) throw new Error('the active cannot read the versions of a rollback');
      answered += message.answered;
      bytes += body.length;
      newest = Math.max(newest, message.newest);
      if (message.purge > upTo || bytes > this.options.limits.bytes) return null;
      documents += itemsIn(body);
      batches.push(body);
    }
    return { batches, documents, newest };
  }

  received(node: string, message: SentVersions, body: Buffer): void {
    const { waiting } = this;
    if (waiting?.node !== node || waiting.request !== message.request) return;
    this.waiting = null;
    // The memory of the frame is reused.
    waiting.answer.resolve({ message, body: Buffer.from(body) });
  }

  disconnected(node: string): void {
    if (this.waiting?.node === node) this.fail('the connection to the active was lost');
  }

  close(): void {
    this.isClosed = true;
    this.fail('the bucket is not replicated any more');
  }

  private async ask(node: string, shard: ShardRef, { keys, upTo, vb }: WantedKeys): Promise<Answer> {
    const { clock, peers } = this.options;
    if (this.isClosed) throw new Error('the bucket is not replicated any more');
    const { bucket, epoch, shard: number } = shard;
    const request = ++requests;
    const answer = deferred<Answer>();
    this.waiting = { node, request, answer };
    const timer = clock.after(answerTimeoutMs, () => this.fail('the active does not answer'));
    const encoded = encodeKeys(keys.map((key) => ({ vb, key })));
    peers.send(node, { kind: 'wanted', bucket, shard: number, epoch, vb, request, upTo }, encoded);
    try {
      return await answer.promise;
    } finally {
      timer.cancel();
    }
  }

  private fail(reason: string): void {
    const { waiting } = this;
    this.waiting = null;
    waiting?.answer.reject(new Error(reason));
  }
}

function itemsIn(cuts: Buffer): number {
  const reader = new CutReader(cuts);
  let items = 0;
  while (reader.nextCut()) while (reader.nextItem()) items++;
  return items;
}
