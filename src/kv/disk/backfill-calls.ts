// Combines the pages that are requested in one turn into few calls of the reading thread: for small vbuckets a message and a transaction
// cost more than their rows.
import { type Deferred, deferred } from '#base/deferred.ts';
import {
  type BackfillPage,
  type BackfillRequest,
  backfillPageBytes,
  DamagedFileError,
} from '../data/disk-engine.ts';
import type { PackedPage, PackedPages } from './adapters/backfill-reader.ts';

type ReadPages = (
  bucketUuid: string,
  file: number,
  requests: readonly BackfillRequest[],
) => Promise<PackedPages>;

interface Call {
  readonly requests: BackfillRequest[];
  readonly answers: Deferred<BackfillPage>[];
  targetBytes: number;
}

export class BackfillCalls {
  private readonly read: ReadPages;
  /** By file, the call that takes further requests until the present turn ends. */
  private readonly open = new Map<string, Call>();

  constructor(read: ReadPages) {
    this.read = read;
  }

  /** The pages of one call are together at most as large as a full page. */
  page(bucketUuid: string, file: number, request: BackfillRequest): Promise<BackfillPage> {
    const key = `${bucketUuid}/${file}`;
    let call = this.open.get(key);
    if (call === undefined || call.targetBytes + request.targetBytes > backfillPageBytes) {
      call = { requests: [], answers: [], targetBytes: 0 };
      this.open.set(key, call);
      void this.send(bucketUuid, file, call);
    }
    const answer = deferred<BackfillPage>();
    call.requests.push(request);
    call.answers.push(answer);
    call.targetBytes += request.targetBytes;
    return answer.promise;
  }

  private async send(bucketUuid: string, file: number, call: Call): Promise<void> {
    const key = `${bucketUuid}/${file}`;
    await null; // more requests of this turn
    if (this.open.get(key) === call) this.open.delete(key);
    try {
      const { batch, pages } = await this.read(bucketUuid, file, call.requests);
      const free = lastOf(pages.length, () => freeMemory(batch));
      for (const [index, page] of pages.entries()) {
        const answer = call.answers[index];
        if ('reason' in page) answer?.reject(new DamagedFileError(page));
        else answer?.resolve({ ...pageOf(batch, page), free });
        if ('reason' in page) free();
      }
    } catch (error) {
      for (const answer of call.answers) answer.reject(error as Error);
    }
  }
}

/** Returns a function that calls `callback` when it is called for the `count`th time. */
function lastOf(count: number, callback: () => void): () => void {
  let left = count;
  return () => {
    if (--left === 0) callback();
  };
}

/** The bytes of pages have memory of their own, since they come from another thread. */
function freeMemory({ buffer, byteLength }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole && !buffer.detached) buffer.transfer(0);
}

const pageOf = (batch: Uint8Array, { start, end, ...positions }: PackedPage): BackfillPage => ({
  batch: batch.subarray(start, end),
  ...positions,
});
