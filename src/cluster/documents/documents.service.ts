// Reads and changes documents of a collection over the data ports of the nodes that have them, with an account of this node. The permission of the route has
// checked the rights of the caller.
import type { BucketClient } from '#client/bucket-client.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { Form } from '#contract/route.ts';
import { Status } from '#wire/status.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { documentRefusals } from '../refusals/documents.refusals.ts';
import { content, readDocument } from './document-reader.ts';
import { badRequest, refusalOf } from './document-refusals.ts';
import { jsonFlagsForAll } from './json-flags.ts';
import { type OpenBucketDeps, openBucket } from './open-bucket.ts';
import type { DocumentPageQuery } from './page-query.ts';

export interface DocumentsDeps extends OpenBucketDeps {
  readonly view: ClusterView;
}

export interface CollectionPath {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

interface OpenCollection {
  readonly client: BucketClient;
  readonly collectionId: number;
}

/** The limit of concurrent requests; each opens a connection. */
const requestsMax = 16;
const pageBytesMax = 20 << 20;
/** The number of documents in one read. */
const batch = 16;

export class DocumentsService {
  private readonly deps: DocumentsDeps;
  private requests = 0;

  constructor(deps: DocumentsDeps) {
    this.deps = deps;
  }

  list(path: CollectionPath, page: DocumentPageQuery, signal: AbortSignal) {
    return this.withCollection(path, async ({ client, collectionId }) => {
      const { listKeys } = await import('./list-keys.ts');
      const ids = await listKeys(client, collectionId, page, signal);
      if (!page.withDocuments) return ids.map((id) => ({ id }));
      const { readWithin } = await import('#client/fetched-document.ts');
      const rows: { id: string; doc: ReturnType<typeof content> }[] = [];
      let bytes = 0;
      for (let from = 0; from < ids.length; from += batch) {
        const some = ids.slice(from, from + batch);
        const bytesMax = pageBytesMax - bytes;
        const documents = await readWithin(client.connection, { collectionId, keys: some, bytesMax, signal });
        if (documents === null)
          throw badRequest(`limit: the documents take more than ${pageBytesMax >> 20} MB; request fewer`);
        for (const [index, found] of documents.entries()) {
          if (found === Status.keyNotFound) continue; // deleted meanwhile
          if (typeof found === 'number') throw await refusalFor(found);
          bytes += found.value.length;
          rows.push({ id: some[index] as string, doc: content(found.value, found.isJson) });
        }
      }
      return rows;
    });
  }

  /** Calls `maySeeSystemXattrs` only for an existing collection, since its names become part of a permission. */
  read(path: CollectionPath, key: string, maySeeSystemXattrs: () => boolean): Promise<unknown> {
    return this.withCollection(path, async ({ client, collectionId }) => {
      const withSystemXattrs = maySeeSystemXattrs();
      const found = await readDocument(client, { collectionId, key, withSystemXattrs });
      if (found === Status.keyNotFound) throw documentRefusals.notFound();
      if (typeof found === 'number') throw await refusalFor(found);
      return found;
    });
  }

  /** Replaces the version that `cas` names; without `cas` stores over any version. */
  write(path: CollectionPath, key: string, sent: Form): Promise<void> {
    const { value } = sent;
    if (value === undefined) throw badRequest('value: the document, as text');
    const cas = casIn(sent);
    const flags = flagsIn(sent);
    return this.withCollection(path, async ({ client, collectionId }) => {
      const kind = cas === 0n ? 'set' : 'replace';
      const stored = { kind, key, value: Buffer.from(value), cas, expiry: 'keep', flags } as const;
      const [reply] = await client.storeMany(collectionId, [stored]);
      if (reply?.status === Status.keyNotFound) throw await refusalFor(Status.keyExists);
      if (reply?.status !== Status.success) throw await refusalFor(reply?.status ?? Status.internalError);
    });
  }

  remove(path: CollectionPath, key: string): Promise<void> {
    return this.withCollection(path, async ({ client, collectionId }) => {
      const removed = { kind: 'remove', key, value: Buffer.alloc(0), cas: 0n, expiry: 0 } as const;
      const [reply] = await client.storeMany(collectionId, [removed]);
      if (reply?.status === Status.keyNotFound) throw badRequest("Key doesn't exist");
      if (reply?.status !== Status.success) throw await refusalFor(reply?.status ?? Status.internalError);
    });
  }

  private async withCollection<T>(
    path: CollectionPath,
    act: (open: OpenCollection) => Promise<T>,
  ): Promise<T> {
    const collectionId = this.collectionId(path);
    if (this.requests >= requestsMax) throw documentRefusals.busy();
    this.requests++;
    try {
      return await this.withClient(path.bucket, (client) => act({ client, collectionId }));
    } finally {
      this.requests--;
    }
  }

  private async withClient<T>(bucket: string, act: (client: BucketClient) => Promise<T>): Promise<T> {
    const { DataPortError, StatusError } = await import('#client/data-port-error.ts');
    let client: BucketClient | null = null;
    try {
      client = await openBucket(this.deps, bucket);
      return await act(client);
    } catch (error) {
      if (error instanceof StatusError) throw await refusalFor(error.status);
      if (error instanceof DataPortError) throw documentRefusals.busy();
      throw error;
    } finally {
      client?.close();
    }
  }

  private collectionId({ bucket, scope, collection }: CollectionPath): number {
    const { view } = this.deps;
    const uuid = view.liveBucket(bucket)?.uuid;
    if (uuid === undefined) throw generalRefusals.notFound();
    const inScope = view.manifest(uuid).scopes.find(({ name }) => name === scope);
    if (!inScope) throw documentRefusals.scopeNotFound({ scope });
    const uid = inScope.collections.find(({ name }) => name === collection)?.uid;
    if (uid !== undefined) return Number.parseInt(uid, 16);
    throw documentRefusals.collectionNotFound({ scope, collection });
  }
}

async function refusalFor(status: number) {
  const { isTransient } = await import('#client/data-port-error.ts');
  return refusalOf(status, isTransient(status));
}

function casIn({ cas }: Form): bigint {
  if (cas === undefined) return 0n;
  const version = /^\d{1,20}$/.test(cas) ? BigInt(cas) : 0n;
  if (version > 0n && version < 1n << 64n) return version;
  throw badRequest('cas: the decimal number that a read of the document gives in meta.cas');
}

function flagsIn({ flags }: Form): number {
  if (flags === undefined) return jsonFlagsForAll;
  if (/^[1-9]\d{0,9}$/.test(flags) && Number(flags) < 2 ** 32) return Number(flags);
  throw documentRefusals.invalidFlags();
}
