// The versions of documents after the start of the node, and the writes that restore them. Changes are read from the bucket's change
// streams, so the cost of a reset grows with the changes of the test and not with the size of the bucket.
import type { BucketClient } from '#client/bucket-client.ts';
import type { Change } from '#client/change.ts';
import { documentKey } from '#client/document-key.ts';
import { pipelined } from '#client/pipelined.ts';
import { DeleteWithMeta, SetWithMeta } from '#wire/commands/documents.ts';
import { responseStatus } from '#wire/frame.ts';
import type { RequestParts } from '#wire/output.ts';
import { relativeExpiryMax } from '#wire/relative-expiry.ts';
import { Datatype, Status } from '#wire/status.ts';
import { WithMetaOption, withMetaExtras } from '#wire/with-meta.ts';

/** A version of a document, or of its deletion. */
export interface Version {
  /** `scope.collection`. */
  collection: string;
  key: string;
  vb: number;
  isDeleted: boolean;
  hasXattrs: boolean;
  isJson: boolean;
  flags: number;
  /** Absolute, in seconds; 0: never. */
  expiry: number;
  casHi: number;
  casLo: number;
  rev: number;
  /** Extended attributes and body. */
  value: Buffer;
}

/** Options of writes with metadata: replace any version, and assign a new CAS. */
const overwriting = WithMetaOption.regeneratesCas | WithMetaOption.skipsResolution;

export const idOf = ({ collection, key }: Pick<Version, 'collection' | 'key'>): string =>
  `${collection}\0${key}`;

export function versionOf(change: Change, collection: string): Version {
  return {
    collection,
    key: change.key,
    vb: change.vb,
    isDeleted: change.kind !== 'mutation',
    hasXattrs: change.bodyStart > change.xattrsStart,
    isJson: change.isJson,
    flags: change.flags,
    expiry: change.kind === 'mutation' ? change.expiry : 0,
    casHi: change.casHi,
    casLo: change.casLo,
    rev: change.rev,
    value: Buffer.from(change.buffer.subarray(change.xattrsStart, change.end)),
  };
}

/** The writes that restore the captured versions. `isMissing`: whether a document without a change does not exist any more. */
export function restoringWrites(
  captured: ReadonlyMap<string, Version>,
  present: ReadonlyMap<string, Version>,
  isMissing: (version: Version) => boolean,
): { set: Version[]; remove: Version[] } {
  const set: Version[] = [];
  for (const [id, version] of captured) {
    const current = present.get(id);
    // An expiry begins again, and an expired document may not have a deletion in the change stream yet.
    const mustRewrite = version.expiry !== 0 || (current === undefined && isMissing(version));
    if (mustRewrite || (current !== undefined && !isSame(current, version)))
      set.push({ ...version, rev: Math.max(version.rev, current?.rev ?? 0) });
  }
  const remove = [...present].filter(
    ([id, current]) => !captured.has(id) && (!current.isDeleted || current.hasXattrs),
  );
  return { set, remove: remove.map(([, current]) => current) };
}

const isSame = (a: Version, b: Version): boolean =>
  !a.isDeleted &&
  a.flags === b.flags &&
  a.isJson === b.isJson &&
  a.hasXattrs === b.hasXattrs &&
  a.expiry === b.expiry &&
  a.value.equals(b.value);

/** Resolves with the statuses other than success. */
export async function write(
  client: BucketClient,
  { set, remove }: { set: readonly Version[]; remove: readonly Version[] },
  collectionIds: ReadonlyMap<string, number>,
  expiryOf: (version: Version) => number,
): Promise<number[]> {
  const requests = [
    ...set.map((version) => withMeta(version, SetWithMeta.opcode, collectionIds, expiryOf(version))),
    ...remove.map((version) => withMeta(version, DeleteWithMeta.opcode, collectionIds, 0)),
  ];
  const failed: number[] = [];
  await pipelined(client.connection, {
    count: requests.length,
    request: (index) => requests[index] as RequestParts,
    receive: (_, frame) => {
      const status = responseStatus(frame);
      if (status !== Status.success && status !== Status.keyNotFound) failed.push(status);
    },
  });
  return failed;
}

function withMeta(
  version: Version,
  opcode: number,
  collectionIds: ReadonlyMap<string, number>,
  expiry: number,
): RequestParts {
  const isDeletion = opcode === DeleteWithMeta.opcode;
  const metadata = {
    flags: isDeletion ? 0 : version.flags,
    expiry,
    rev: version.rev + 1,
    casHi: version.casHi,
    casLo: version.casLo,
  };
  const extras = withMetaExtras(metadata, overwriting);
  const datatype = (version.isJson ? Datatype.json : 0) | (version.hasXattrs ? Datatype.xattr : 0);
  return {
    opcode,
    vb: version.vb,
    key: documentKey(collectionIds.get(version.collection) ?? 0, version.key),
    extras,
    ...(!isDeletion && { value: version.value, datatype }),
  };
}

/** The expiry of a captured document that is written now: after as many seconds as it had left at its capture. */
export function renewedExpiry({ expiry }: Version, capturedMs: number, nowMs: number): number {
  const seconds = expiry - Math.floor(capturedMs / 1000);
  if (expiry === 0 || seconds > relativeExpiryMax) return expiry;
  return Math.floor(nowMs / 1000) + Math.max(seconds, 1);
}
