// Opcodes, flags and end reasons of the change stream protocol, DCP (public document: kv_engine docs/dcp/documentation).

export const Message = {
  streamEnd: 0x55,
  snapshotMarker: 0x56,
  mutation: 0x57,
  deletion: 0x58,
  expiration: 0x59,
  noop: 0x5c,
  systemEvent: 0x5f,
  seqnoAdvanced: 0x64,
} as const;

export const OpenFlag = {
  producer: 0x01,
  includeXattrs: 0x04,
  noValue: 0x08,
  includeDeleteTimes: 0x20,
  noValueWithDatatype: 0x40,
  includeDeletedUserXattrs: 0x100,
} as const;
export const openFlagsKnown = Object.values(OpenFlag).reduce((all, flag) => all | flag, 0);

export const StreamFlag = {
  takeover: 0x01,
  diskOnly: 0x02,
  toLatest: 0x04,
  noValue: 0x08,
  activeOnly: 0x10,
  strictUuid: 0x20,
  fromLatest: 0x40,
  ignorePurged: 0x80,
} as const;
export const streamFlagsKnown = Object.values(StreamFlag).reduce((all, flag) => all | flag, 0);

export const SnapshotFlag = { memory: 0x01, disk: 0x02, checkpoint: 0x04 } as const;

/** Why a stream ends. */
export const EndReason = {
  finished: 0,
  closed: 1,
  stateChanged: 2,
  disconnected: 3,
  tooSlow: 4,
  backfillFailed: 5,
  rollback: 6,
  filterEmpty: 7,
  lostPrivileges: 8,
} as const;
export type EndReason = (typeof EndReason)[keyof typeof EndReason];

/** Version of the snapshot marker that a client understands. */
export type MarkerVersion = 1 | 2 | 2.2;

/** Type of a system event: what happened to a scope or a collection. */
export const EventKind = {
  createCollection: 0,
  dropCollection: 1,
  createScope: 3,
  dropScope: 4,
  modifyCollection: 5,
} as const;
export type EventKind = (typeof EventKind)[keyof typeof EventKind];
