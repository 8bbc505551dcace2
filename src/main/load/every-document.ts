// Writes all documents of a load, before it begins, or deletes them after it.
import type { StoreReply, StoreRequest } from '#client/bucket-client.ts';
import { statusName } from '#client/data-port-error.ts';
import { Status } from '#wire/status.ts';
import { CommandError, ExitStatus } from '../exit-status.ts';
import type { BucketData } from '../remote/bucket-data.ts';
import type { LoadPlan } from './load-run.ts';

const batchDocuments = 1_000;

/** `progress` gets the number of documents that are done. @throws CommandError if the bucket refuses a document before the load, or the signal aborts */
export async function everyDocument(
  data: Pick<BucketData, 'store'>,
  {
    collectionId,
    prefix,
    documents,
    value,
  }: Pick<LoadPlan, 'collectionId' | 'prefix' | 'documents' | 'value'>,
  kind: 'set' | 'remove',
  progress: (done: number) => void,
  signal?: AbortSignal,
): Promise<void> {
  const body = kind === 'set' ? value : Buffer.alloc(0);
  for (let first = 0; first < documents; first += batchDocuments) {
    if (signal?.aborted === true)
      throw new CommandError(
        `stopped: ${first} of ${documents} documents are written, and stay`,
        ExitStatus.interrupted,
      );
    const keys = Array.from(
      { length: Math.min(batchDocuments, documents - first) },
      (_, n) => `${prefix}${first + n}`,
    );
    const replies = await data.store(
      collectionId,
      keys.map((key): StoreRequest => ({ kind, key, value: body, cas: 0n, expiry: 0 })),
    );
    const refused = replies.findIndex(({ status }) => status !== Status.success);
    // A measurement that has ended keeps its figures whatever becomes of the documents.
    if (kind === 'set' && refused >= 0) {
      const stored = first + replies.filter(({ status }) => status === Status.success).length;
      throw new CommandError(
        `document "${keys[refused]}": ${statusName((replies[refused] as StoreReply).status)}; ${stored} of ${documents} documents are written, and stay`,
      );
    }
    progress(first + keys.length);
  }
}
