// Reads documents with metadata and extended attributes. One request has a limited number of paths, so many attributes take several requests.
import type { BucketClient, FetchedParts } from '#client/bucket-client.ts';
import { isAttributeName, type PathRead } from '#client/subdoc.ts';
import type { ReadOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import { SubdocMultiLookup } from '#wire/commands/subdocument.ts';
import { Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { undefinedIfMissing } from './whole-documents.ts';

const noBytes = Buffer.alloc(0);
const documentFields = ['$document.exptime', '$document.flags', '$document.datatype'];
/** The maximum number of paths in one request. */
const pathsMax = 16;
/** How often a document is read that changes between the requests of each attempt. */
const attemptsMax = 10;

/** Metadata, attributes and body of each document belong to the same version. */
export async function readParts(
  client: BucketClient,
  keyspace: Keyspace,
  ids: readonly string[],
  { xattrs = [], withDeleted = false, signal }: ReadOptions,
): Promise<(StoredDocument | undefined)[]> {
  // Other names are not read: no attribute can have them, and the data service would refuse them, or read them as paths into others.
  const names = xattrs.filter(isAttributeName);
  const requests = requestsFor(names);
  const docFlags = withDeleted ? DocFlag.accessDeleted : 0;
  const found = new Array<StoredDocument | undefined>(ids.length);
  let pending = [...ids.keys()];
  for (let attempt = 0; pending.length > 0; attempt++) {
    if (attempt === attemptsMax) throw changedMeanwhile(ids[pending[0] as number] as string);
    const pendingIds = pending.map((at) => ids[at] as string);
    const answers: (FetchedParts | number)[][] = [];
    for (const reads of requests)
      answers.push(await client.lookupMany(keyspace.collectionId, pendingIds, reads, signal, docFlags));
    pending = pending.filter((at, index) => {
      const parts = ofOneVersion(answers.map((answer) => answer[index] as FetchedParts | number));
      if (parts === null) return true;
      found[at] =
        typeof parts === 'number'
          ? undefinedIfMissing(SubdocMultiLookup.opcode, parts)
          : assembled(ids[at] as string, parts, requests.flat(), names);
      return false;
    });
  }
  return found;
}

/** The body is in the first request; attributes precede it, as the protocol requires. */
function requestsFor(names: readonly string[]): PathRead[][] {
  const ofAttributes = (paths: readonly string[]): PathRead[] =>
    paths.map((path) => ({ opcode: SubdocOpcode.get, flags: PathFlag.xattr, path }));
  const room = pathsMax - documentFields.length - 1;
  const first = ofAttributes([...documentFields, ...names.slice(0, room)]);
  const requests = [[...first, { opcode: SubdocOpcode.getDoc, flags: 0, path: '' }]];
  for (let from = room; from < names.length; from += pathsMax)
    requests.push(ofAttributes(names.slice(from, from + pathsMax)));
  return requests;
}

/** Joins the answers of one document; null if it changed between them. */
function ofOneVersion([first, ...others]: readonly (FetchedParts | number)[]): FetchedParts | number | null {
  if (first === undefined || typeof first === 'number') return first ?? null;
  const results = [...first.results];
  for (const other of others) {
    if (typeof other === 'number' || other.cas !== first.cas) return null;
    results.push(...other.results);
  }
  return { ...first, results };
}

const changedMeanwhile = (id: string) =>
  sqlErrorWith(12008, { isRetryable: true }, `of ${id}: it changed during each of ${attemptsMax} reads`);

function assembled(
  id: string,
  { cas, isDeleted, results }: FetchedParts,
  reads: readonly PathRead[],
  names: readonly string[],
): StoredDocument {
  const byPath = new Map(reads.map(({ path }, index) => [path, results[index]]));
  const textOf = (path: string) => byPath.get(path)?.value.toString() ?? '';
  const xattrs = new Map<string, Uint8Array>();
  for (const name of names) {
    const part = byPath.get(name);
    if (part?.status === Status.success) xattrs.set(name, part.value);
  }
  return {
    id,
    bytes: byPath.get('')?.value ?? noBytes,
    isJson: textOf('$document.datatype').includes('json'),
    cas,
    expiration: Number(textOf('$document.exptime')) || 0,
    flags: Number(textOf('$document.flags')) || 0,
    xattrs,
    isDeleted,
  };
}
