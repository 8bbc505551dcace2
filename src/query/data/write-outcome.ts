// Translates the data service's reply to a write into an outcome for the engine.
import type { StoreReply } from '#client/bucket-client.ts';
import { isTransient, statusName } from '#client/data-port-error.ts';
import type { DocumentWrite, WriteOutcome } from '#sqlpp/datastore/documents.ts';
import { Status } from '#wire/status.ts';

const reasons: Readonly<Record<number, string>> = {
  [Status.tooBig]: 'the document is larger than 20 MiB',
  [Status.outOfMemory]: 'the bucket has no memory left',
  [Status.durabilityImpossible]: 'the bucket has too few replicas for the durability level',
  [Status.durabilityInvalidLevel]: 'the bucket does not know this durability level',
  [Status.syncWriteAmbiguous]: 'the outcome of the durable write is unknown',
  [Status.unknownCollection]: 'the collection does not exist',
  [Status.invalidArguments]: 'the key is empty or longer than 250 bytes',
};

export function outcomeOf({ status, cas, failedPartStatus }: StoreReply, write: DocumentWrite): WriteOutcome {
  switch (status) {
    case Status.success:
    case Status.subdocSuccessDeleted:
      return { status: 'done', cas };
    case Status.keyNotFound:
      return { status: 'not found' };
    case Status.keyExists:
    case Status.notStored:
      return { status: write.kind === 'insert' ? 'exists' : 'cas mismatch' };
    case Status.locked:
      return { status: 'locked' };
    default:
      return failed(status === Status.subdocMultiPathFailure ? failedPartStatus : status);
  }
}

const failed = (status: number): WriteOutcome => ({
  status: 'failed',
  reason: reasons[status] ?? `the data service answered ${statusName(status)}`,
  retryable: isTransient(status),
});
