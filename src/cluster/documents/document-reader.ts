// Reads one version of a document with its attributes, in the form that published consoles read.
import { exactJson } from '#base/exact-json.ts';
import type { BucketClient, FetchedParts } from '#client/bucket-client.ts';
import { isAttributeName, type PathRead } from '#client/subdoc.ts';
import { Status } from '#wire/status.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';

/** The attribute `$document`. */
interface DocumentMeta {
  readonly CAS: string;
  readonly datatype: readonly string[];
  readonly exptime: number;
  readonly flags: number;
  readonly revid: string;
}

/** The limit of paths in one request. */
const pathsMax = 15;
/** How often a document is read whose parts change between the reads of them. */
const attemptsMax = 10;

const attribute = (path: string): PathRead => ({ opcode: SubdocOpcode.get, flags: PathFlag.xattr, path });
const metaPath = attribute('$document');
/** What the first request reads. The virtual attribute `$XTOC` has the names of the document's extended attributes. */
const firstPaths = [metaPath, attribute('$XTOC'), { opcode: SubdocOpcode.getDoc, flags: 0, path: '' }];

/** Resolves with the document, or with a status of the data port if there is none or it keeps changing. */
export async function readDocument(
  client: BucketClient,
  document: { collectionId: number; key: string; withSystemXattrs: boolean },
): Promise<unknown> {
  const { collectionId, key } = document;
  const read = async (paths: readonly PathRead[]) =>
    (await client.lookupMany(collectionId, [key], paths))[0] as FetchedParts | number;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const head = await read(firstPaths);
    if (typeof head === 'number') return head;
    const [meta, attributeNames, body] = head.results.map(({ value }) => value) as [Buffer, Buffer, Buffer];
    const names = (JSON.parse(attributeNames.toString()) as string[]).filter(
      (name) => isAttributeName(name) && (document.withSystemXattrs || !name.startsWith('_')),
    );
    const xattrs = await readXattrs(names, head.cas, read);
    if (typeof xattrs === 'number') return xattrs;
    if (xattrs !== null)
      return documentReply(key, head.cas, JSON.parse(meta.toString()) as DocumentMeta, body, xattrs);
  }
  return Status.temporaryFailure;
}

/** Resolves with null if the document has changed since `cas` was read, or with a status of the data port other than success. */
async function readXattrs(
  names: readonly string[],
  cas: bigint,
  read: (paths: readonly PathRead[]) => Promise<FetchedParts | number>,
): Promise<Record<string, unknown> | null | number> {
  const found: [string, unknown][] = [];
  for (let at = 0; at < names.length; at += pathsMax) {
    const some = names.slice(at, at + pathsMax);
    const parts = await read(some.map(attribute));
    if (typeof parts === 'number') return parts;
    if (parts.cas !== cas) return null;
    for (const [index, { status, value }] of parts.results.entries())
      if (status === Status.success) found.push([some[index] as string, exactJson(value.toString())]);
  }
  return Object.fromEntries(found);
}

function documentReply(
  id: string,
  cas: bigint,
  meta: DocumentMeta,
  body: Buffer,
  xattrs: Record<string, unknown>,
) {
  const { exptime: expiration, flags, revid, datatype } = meta;
  const rev = `${revid}-${hex(cas, 16)}${hex(expiration, 8)}${hex(flags, 8)}`;
  return {
    meta: { id, rev, expiration, flags, cas: `${cas}` },
    ...content(body, datatype.includes('json')),
    xattrs,
  };
}

const hex = (value: bigint | number, digits: number): string => value.toString(16).padStart(digits, '0');

/** A value as consoles read it. */
export const content = (value: Buffer, isJson: boolean): { json: string } | { base64: string } =>
  isJson ? { json: value.toString() } : { base64: value.toString('base64') };
