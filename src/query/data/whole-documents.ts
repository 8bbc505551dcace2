// Whole documents through the data port: pipelined requests, a frame for each.
import type { BucketClient } from '#client/bucket-client.ts';
import type { FetchedDocument } from '#client/fetched-document.ts';
import type { ReadOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { Status } from '#wire/status.ts';
import { statusFailure } from './data-failure.ts';

export async function readWhole(
  client: BucketClient,
  keyspace: Keyspace,
  ids: readonly string[],
  { signal }: ReadOptions,
): Promise<(StoredDocument | undefined)[]> {
  const found = await client.getMany(keyspace.collectionId, ids, signal);
  return found.map((document, index) => {
    if (typeof document === 'number') return undefinedIfMissing(document, keyspace);
    return storedDocument(ids[index] as string, document);
  });
}

function storedDocument(id: string, { value, isJson, cas, flags }: FetchedDocument): StoredDocument {
  return { id, bytes: value, isJson, cas, expiration: 0, flags };
}

/** Returns undefined for a missing document or an impossible key; throws for other statuses. */
export function undefinedIfMissing(status: number, keyspace: Keyspace): undefined {
  if (status === Status.keyNotFound || status === Status.invalidArguments) return undefined;
  throw statusFailure(status, keyspace.name);
}
