// System events: scopes and collections that are created, changed or dropped, stored as rows of a vbucket like documents. Their
// keys are in collection 1, which no manifest can name, so that seqno order, cuts, files and streams need no special case.
//
//   key:   1, group (0 begin and end of a collection, 1 of a scope, 2 changes of a collection), u32 id
//   value: u8 kind, u8 0, u48 manifest uid, u32 scope id, u32 collection id, i32 maximum time to live, name
import { EventKind } from '#wire/dcp.ts';

export interface SystemEvent {
  kind: EventKind;
  manifestUid: number;
  scopeId: number;
  /** 0 for scopes. */
  collectionId: number;
  /** Seconds, 0 = none of its own, -1 = documents never expire. */
  maxTtl: number;
  name: string;
}

const reservedCollection = 1;
const headBytes = 20;

/** Whether a key with the collection id in front belongs to a system event. */
export const isEventKey = (buffer: Uint8Array, start: number): boolean =>
  buffer[start] === reservedCollection;

export const isScopeEvent = (kind: EventKind): boolean =>
  kind === EventKind.createScope || kind === EventKind.dropScope;

export const isDrop = (kind: EventKind): boolean =>
  kind === EventKind.dropCollection || kind === EventKind.dropScope;

/** The drop of a scope or collection has the key of its creation, and so replaces it. */
export function eventKey({ kind, scopeId, collectionId }: SystemEvent): Buffer {
  const key = Buffer.alloc(6);
  key[0] = reservedCollection;
  key[1] = isScopeEvent(kind) ? 1 : kind === EventKind.modifyCollection ? 2 : 0;
  key.writeUInt32BE(isScopeEvent(kind) ? scopeId : collectionId, 2);
  return key;
}

export function encodeEvent(event: SystemEvent): Buffer {
  const value = Buffer.alloc(headBytes + Buffer.byteLength(event.name));
  value[0] = event.kind;
  value.writeUIntBE(event.manifestUid, 2, 6);
  value.writeUInt32BE(event.scopeId, 8);
  value.writeUInt32BE(event.collectionId, 12);
  value.writeInt32BE(event.maxTtl, 16);
  value.write(event.name, headBytes);
  return value;
}

export const decodeEvent = (buffer: Buffer, start: number, end: number): SystemEvent => ({
  kind: buffer[start] as EventKind,
  manifestUid: buffer.readUIntBE(start + 2, 6),
  scopeId: buffer.readUInt32BE(start + 8),
  collectionId: buffer.readUInt32BE(start + 12),
  maxTtl: buffer.readInt32BE(start + 16),
  name: buffer.toString('utf8', start + headBytes, end),
});
