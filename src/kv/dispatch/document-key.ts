// Reads the key of a document request in the form that buckets use: prefixed by its collection id.

import {
  collectionIdBytes,
  isReservedCollectionId,
  keyBytesMax,
  readCollectionId,
} from '#wire/collection-id.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import type { Request } from './request.ts';

/** Sets the request's key and collection. */
export function readDocumentKey(request: Request): Status {
  const { frame } = request;
  const bytes = frame.valueStart - frame.keyStart;
  if (request.session.features[Feature.collections] !== 1) return readPlainKey(request, bytes);
  const id = readCollectionId(frame.buffer, frame.keyStart, frame.valueStart);
  if (id !== 0 && isPlainInCache(request, bytes)) return readPlainKey(request, bytes);
  if (id < 0 || isReservedCollectionId(id))
    return request.refuse(Status.invalidArguments, 'Key encoding is invalid');
  const keyBytes = bytes - collectionIdBytes(id);
  if (keyBytes < 1 || keyBytes > (id === 0 ? keyBytesMax.inDefault : keyBytesMax.inOthers)) {
    return request.refuse(Status.invalidArguments, keyLengthProblem);
  }
  request.collection = id;
  request.key = frame.buffer;
  request.keyStart = frame.keyStart;
  request.keyEnd = frame.valueStart;
  return Status.success;
}

/**
 * A cache bucket has only the default collection, whose id is the byte 0. SDKs that find no collections among the capabilities of the bucket
 * send keys without an id there, though HELLO granted collections before they had selected the bucket; other SDKs send the id.
 */
const isPlainInCache = ({ bucket }: Request, bytes: number): boolean =>
  bytes > 0 && bucket.spec.type === 'cache';

const keyLengthProblem = 'Key length is not valid';

/** Keys of clients without collections are in the default collection: its id is prefixed. */
function readPlainKey(request: Request, bytes: number): Status {
  const { frame, keyScratch } = request;
  if (bytes > keyBytesMax.inDefault) return request.refuse(Status.invalidArguments, keyLengthProblem);
  keyScratch[0] = 0;
  frame.buffer.copy(keyScratch, 1, frame.keyStart, frame.valueStart);
  request.collection = 0;
  request.key = keyScratch;
  request.keyStart = 0;
  request.keyEnd = bytes + 1;
  return Status.success;
}
