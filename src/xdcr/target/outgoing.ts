// A version of a document on its way to the target, and the requests that send it.
import type { ChangeKind } from '#client/change.ts';
import { collectionIdBytes, writeCollectionId } from '#wire/collection-id.ts';
import { DeleteWithMeta, GetMeta, SetWithMeta } from '#wire/commands/documents.ts';
import type { RequestParts } from '#wire/output.ts';
import type { ConflictResolution } from '../xdcr.contract.ts';

export interface Outgoing {
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
  /** Id of its collection at the target; looked up for each attempt. */
  targetCollectionId: number;
  attempts: number;
  /** Called once: the target has stored or rejected it, or it is not sent at all. */
  readonly done: () => void;
}

/** Bytes that it occupies while it waits. */
export const outgoingBytes = ({ key, value }: Outgoing): number => key.length + value.length + headBytes;
const headBytes = 128;

const Option = { acceptsLastWrite: 0x02, isExpiration: 0x10 } as const;
/** Version of the request: the reply states the datatype too. */
const withDatatype = Buffer.from([2]);

export function metaRequest(outgoing: Outgoing): RequestParts {
  return { opcode: GetMeta.opcode, vb: outgoing.vb, key: keyOf(outgoing), extras: withDatatype };
}

export function writeRequest(outgoing: Outgoing, rule: ConflictResolution): RequestParts {
  const { kind, vb, value, datatype } = outgoing;
  return {
    opcode: kind === 'mutation' ? SetWithMeta.opcode : DeleteWithMeta.opcode,
    vb,
    datatype,
    key: keyOf(outgoing),
    extras: extrasOf(outgoing, rule),
    value,
  };
}

function extrasOf(outgoing: Outgoing, rule: ConflictResolution): Buffer {
  const { kind, flags, expiry, rev, casHi, casLo } = outgoing;
  const extras = Buffer.allocUnsafe(28);
  extras.writeUInt32BE(flags);
  extras.writeUInt32BE(kind === 'mutation' ? expiry : 0, 4);
  extras.writeUInt32BE(Math.floor(rev / 2 ** 32), 8);
  extras.writeUInt32BE(rev >>> 0, 12);
  extras.writeUInt32BE(casHi, 16);
  extras.writeUInt32BE(casLo, 20);
  const resolutionOption = rule === 'lww' ? Option.acceptsLastWrite : 0;
  const kindOption = kind === 'expiration' ? Option.isExpiration : 0;
  extras.writeUInt32BE(resolutionOption | kindOption, 24);
  return extras;
}

function keyOf({ targetCollectionId, key }: Outgoing): Buffer {
  const prefixLength = collectionIdBytes(targetCollectionId);
  const prefixedKey = Buffer.allocUnsafe(prefixLength + key.length);
  writeCollectionId(prefixedKey, 0, targetCollectionId);
  key.copy(prefixedKey, prefixLength);
  return prefixedKey;
}
