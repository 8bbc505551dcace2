// System events as clients read them (public documents: kv_engine docs/dcp/documentation/commands/system_event.md and
// engines/ep/src/collections/events.fbs): packed numbers, or a FlatBuffers table where the client requested that.

import { EventKind } from '#wire/dcp.ts';
import { encodeTable, type Field } from '#wire/flatbuffer.ts';
import { isDrop, isScopeEvent, type SystemEvent } from '../data/system-events.ts';

export interface EventForm {
  /** The form of the value: 0, 1 with a maximum time to live, 2 a table. */
  version: number;
  key: string;
  value: Buffer;
}

/** Null for events that this form does not include. */
export function formOf(event: SystemEvent, asTable: boolean): EventForm | null {
  const key = isDrop(event.kind) ? '' : event.name;
  if (asTable) return { version: 2, key, value: encodeTable(tableOf(event)) };
  if (event.kind === EventKind.modifyCollection) return null;
  const hasTtl = event.kind === EventKind.createCollection && event.maxTtl !== 0;
  return { version: hasTtl ? 1 : 0, key, value: numbersOf(event, hasTtl) };
}

function numbersOf(event: SystemEvent, hasTtl: boolean): Buffer {
  const value = Buffer.alloc(isScopeEvent(event.kind) ? 12 : hasTtl ? 20 : 16);
  value.writeBigUInt64BE(BigInt(event.manifestUid), 0);
  value.writeUInt32BE(event.scopeId, 8);
  if (!isScopeEvent(event.kind)) value.writeUInt32BE(event.collectionId, 12);
  if (hasTtl) value.writeUInt32BE(secondsOf(event), 16);
  return value;
}

function tableOf(event: SystemEvent): Field[] {
  const isSystem = event.name.startsWith('_') && event.name !== '_default';
  const common = [{ u64: event.manifestUid }, { u32: event.scopeId }];
  if (event.kind === EventKind.createScope) return [...common, { text: event.name }];
  if (event.kind === EventKind.dropScope) return [...common, { bool: isSystem }];
  const collection = [...common, { u32: event.collectionId }];
  if (event.kind === EventKind.dropCollection) return [...collection, { bool: isSystem }];
  return [...collection, { bool: event.maxTtl !== 0 }, { u32: secondsOf(event) }, { text: event.name }];
}

/** Clients get 0 also for a collection whose documents never expire, for which `maxTtl` is -1. */
const secondsOf = ({ maxTtl }: SystemEvent): number => Math.max(maxTtl, 0);
