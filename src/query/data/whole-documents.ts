// Whole documents through the data port: pipelined requests, a frame for each.
import type { BucketClient } from '#client/bucket-client.ts';
import { StatusError } from '#client/data-port-error.ts';
import type { FetchedDocument } from '#client/fetched-document.ts';
import type { ReadOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Get } from '#wire/commands/documents.ts';
import { Status } from '#wire/status.ts';

export async function readWhole(
  client: BucketClient,
  keyspace: Keyspace,
  ids: readonly string[],
  { signal }: ReadOptions,
): Promise<(StoredDocument | undefined)[]> {
  const found = await client.getMany(keyspace.collectionId, ids, signal);
  return found.map((document, index) => {
    if (typeof document === 'number') return undefinedIfMissing(Get.opcode, document);
    return storedDocument(ids[index] as string, document);
  });
}

function storedDocument(id: string, { value, isJson, cas, flags }: FetchedDocument): StoredDocument {
  return { id, bytes: value, isJson, cas, expiration: 0, flags };
}

/** Returns undefined for a missing document or an impossible key. @throws StatusError for other statuses */
export function undefinedIfMissing(opcode: number, status: number): undefined {
  if (status === Status.keyNotFound || status === Status.invalidArguments) return undefined;
  throw new StatusError(opcode, status);
}
