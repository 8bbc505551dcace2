// Reads of whole documents: the request, and the document that its reply contains.
import { Get } from '#wire/commands/documents.ts';
import { type Frame, responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { snappyInflate } from '#wire/snappy.ts';
import { Datatype, Status } from '#wire/status.ts';
import { DataPortError } from './data-port-error.ts';
import { documentKey, vbucketOf } from './document-key.ts';
import { pipelined } from './pipelined.ts';
import type { RequestSender } from './wire-connection.adapter.ts';
import { casOf } from './wire-reply.ts';

/** The largest body: 20 MiB and its extended attributes. */
export const inflatedBytesMax = 22 << 20;

export interface FetchedDocument {
  /** The inflated body. */
  value: Buffer;
  isJson: boolean;
  cas: bigint;
  flags: number;
}

export interface ReadWithin {
  readonly collectionId: number;
  readonly keys: readonly string[];
  /** The limit of all values together. */
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

/**
 * Resolves with a document, or the status of the refused read, in the order of the keys; with null as soon as the values are more than
 * `bytesMax`. The caller then closes the connection, since replies that are on their way would still be received.
 */
export async function readWithin(
  connection: RequestSender,
  { collectionId, keys, bytesMax, signal }: ReadWithin,
): Promise<(FetchedDocument | number)[] | null> {
  const results = new Array<FetchedDocument | number>(keys.length);
  const excess = new AbortController();
  let bytes = 0;
  try {
    await pipelined(connection, {
      count: keys.length,
      signal: AbortSignal.any([signal, excess.signal]),
      request: (index) => documentRequest(Get.opcode, collectionId, keys[index] as string),
      receive: (index, frame) => {
        if (excess.signal.aborted) return;
        const found = decodeRead(frame);
        if (typeof found !== 'number') bytes += found.value.length;
        if (bytes > bytesMax) excess.abort();
        else results[index] = found;
      },
    });
  } catch (error) {
    if (excess.signal.aborted) return null;
    throw error;
  }
  return results;
}

export const documentRequest = (opcode: number, collectionId: number, key: string): RequestParts => ({
  opcode,
  vb: vbucketOf(key),
  key: documentKey(collectionId, key),
});

/** The document, or the status of the refused read. */
export function decodeRead(frame: Frame): FetchedDocument | number {
  const status = responseStatus(frame);
  if (status !== Status.success) return status;
  const { buffer, extrasStart, keyStart, valueStart, end, datatype } = frame;
  const flags = keyStart - extrasStart === 4 ? buffer.readUInt32BE(extrasStart) : 0;
  const value = inflatedValue(buffer, valueStart, end, datatype);
  return { value, isJson: (datatype & Datatype.json) !== 0, cas: casOf(frame), flags };
}

/** A copied, inflated value. */
function inflatedValue(buffer: Buffer, start: number, end: number, datatype: number): Buffer {
  if ((datatype & Datatype.snappy) === 0) return Buffer.from(buffer.subarray(start, end));
  const inflated = snappyInflate(buffer, start, end, inflatedBytesMax);
  if (inflated === null) throw new DataPortError('the data port sent a value that cannot be inflated');
  return inflated;
}
