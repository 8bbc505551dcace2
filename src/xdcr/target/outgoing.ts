// A version of a document on its way to the target, and the requests that send it.
import type { Change, ChangeKind } from '#client/change.ts';
import { documentKeyOfBytes } from '#client/document-key.ts';
import { DeleteWithMeta, GetMeta, SetWithMeta } from '#wire/commands/documents.ts';
import type { RequestParts } from '#wire/output.ts';
import { WithMetaOption, withMetaExtras } from '#wire/with-meta.ts';
import type { ConflictResolution } from '../xdcr.contract.ts';

export interface OutgoingVersion {
  readonly kind: ChangeKind;
  readonly vb: number;
  readonly seqno: number;
  /** Id of its collection at the source. */
  readonly collectionId: number;
  /** Without the collection. */
  readonly key: Buffer;
  readonly value: Buffer;
  readonly datatype: number;
  readonly flags: number;
  readonly expiry: number;
  readonly rev: number;
  readonly casHi: number;
  readonly casLo: number;
  /** Null while its collection is not known. */
  routeId: string | null;
  /** The key with the collection at the target in front; made for each route. */
  targetKey: Buffer;
  /** How often the target has refused the version. */
  attempts: number;
  /** Called once: the target has stored or rejected the version, or the version is not sent at all. */
  readonly done: () => void;
}

/** The version to send, with copies of the parts of the change that it needs. */
export const outgoingOf = (
  change: Change,
  { value, datatype }: Pick<OutgoingVersion, 'value' | 'datatype'>,
  expiry: number,
  routeId: string | null,
  done: () => void,
): OutgoingVersion => ({
  kind: change.kind,
  vb: change.vb,
  seqno: change.seqno,
  collectionId: change.collectionId,
  key: Buffer.from(change.keyBytes),
  value,
  datatype,
  flags: change.flags,
  expiry,
  rev: change.rev,
  casHi: change.casHi,
  casLo: change.casLo,
  routeId,
  targetKey: noKey,
  attempts: 0,
  done,
});

const noKey = Buffer.alloc(0);

export function setTargetCollection(outgoing: OutgoingVersion, collectionId: number): void {
  outgoing.targetKey = documentKeyOfBytes(collectionId, outgoing.key);
}

/** About the memory of a version without its key and value. */
const metadataBytes = 128;

/** The bytes that a version occupies while it waits. */
export const outgoingBytes = ({ key, value }: OutgoingVersion): number =>
  key.length + value.length + metadataBytes;

/** Version 2 of GET_META: its reply states the datatype too. */
const withDatatype = Buffer.from([2]);

export function metaRequest(outgoing: OutgoingVersion): RequestParts {
  return { opcode: GetMeta.opcode, vb: outgoing.vb, key: outgoing.targetKey, extras: withDatatype };
}

export function writeRequest(outgoing: OutgoingVersion, rule: ConflictResolution): RequestParts {
  const { kind, vb, value, datatype } = outgoing;
  return {
    opcode: kind === 'mutation' ? SetWithMeta.opcode : DeleteWithMeta.opcode,
    vb,
    datatype,
    key: outgoing.targetKey,
    extras: extrasOf(outgoing, rule),
    value,
  };
}

function extrasOf(outgoing: OutgoingVersion, rule: ConflictResolution): Buffer {
  const { kind, flags, expiry, rev, casHi, casLo } = outgoing;
  const resolutionOption = rule === 'lww' ? WithMetaOption.acceptsLastWrite : 0;
  const kindOption = kind === 'expiration' ? WithMetaOption.isExpiration : 0;
  const meta = { flags, expiry: kind === 'mutation' ? expiry : 0, rev, casHi, casLo };
  return withMetaExtras(meta, resolutionOption | kindOption);
}
