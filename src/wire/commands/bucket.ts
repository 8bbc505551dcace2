// Commands about a bucket as a whole, its collections and its vbuckets.
import { defineCommand } from '../define-command.ts';

export const Stat = defineCommand({
  opcode: 0x10,
  name: 'STAT',
  session: 'bucket',
  request: { key: 'optional', value: 'optional' },
  duringWarmup: true,
  withoutBucket: true,
  doc: 'Statistics of a group, one packet each, closed by an empty one. Groups of the bucket take simpleStats in all of it, those of collections in what they show; those of a key read, those of the node an administrator.',
});

export const GetManifest = defineCommand({
  opcode: 0xba,
  name: 'GET_MANIFEST',
  session: 'bucket',
  duringWarmup: true,
  doc: 'Scopes and collections that the user can see.',
});

export const GetCollectionId = defineCommand({
  opcode: 0xbb,
  name: 'GET_COLLECTION_ID',
  session: 'bucket',
  request: { key: 'optional', value: 'optional' },
  duringWarmup: true,
  doc: 'The id of `scope.collection`.',
});

export const GetScopeId = defineCommand({
  opcode: 0xbc,
  name: 'GET_SCOPE_ID',
  session: 'bucket',
  request: { key: 'optional', value: 'optional' },
  duringWarmup: true,
  doc: 'The id of a scope.',
});

export const GetFailoverLog = defineCommand({
  opcode: 0x96,
  name: 'GET_FAILOVER_LOG',
  session: 'bucket',
  privilege: { all: ['read'] },
  doc: 'History of a vbucket: uuid and first seqno, newest first.',
});

export const GetAllVbSeqnos = defineCommand({
  opcode: 0x48,
  name: 'GET_ALL_VB_SEQNOS',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [0, 4, 8] },
  reorderable: true,
  doc: 'The latest seqno of every vbucket in a state, or that of a collection in it.',
});

export const SeqnoPersistence = defineCommand({
  opcode: 0xb7,
  name: 'SEQNO_PERSISTENCE',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [8] },
  doc: 'Answers once a seqno is on disk.',
});

export const ObserveSeqno = defineCommand({
  opcode: 0x91,
  name: 'OBSERVE_SEQNO',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { value: 'required' },
  doc: 'Persisted and current seqno of a vbucket, if it still has the given uuid.',
});

export const Observe = defineCommand({
  opcode: 0x92,
  name: 'OBSERVE',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  // Of so many keys as one request may ask about.
  request: { value: 'required', valueBytesMax: 2 * 1024 * 1024 },
  doc: 'Whether documents are in memory, on disk or gone.',
});

export const GetVbucket = defineCommand({
  opcode: 0x3e,
  name: 'GET_VBUCKET',
  session: 'bucket',
  doc: 'The state of a vbucket.',
});

export const GetKeys = defineCommand({
  opcode: 0xb8,
  name: 'GET_KEYS',
  session: 'bucket',
  privilege: { all: ['read'] },
  request: { key: 'document', extras: [0, 4] },
  doc: 'Keys of a collection in a vbucket, in order from a key on.',
});

export const EvictKey = defineCommand({
  opcode: 0x93,
  name: 'EVICT_KEY',
  session: 'bucket',
  privilege: { all: ['read'] },
  request: { key: 'document' },
  doc: 'Lets a document leave memory that is on disk, for administrators.',
});

export const GetRandomKey = defineCommand({
  opcode: 0xb6,
  name: 'GET_RANDOM_KEY',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [0, 4, 5] },
  doc: 'Any document of a collection.',
});

const scanning = {
  session: 'bucket',
  privilege: { all: ['rangeScan'], anywhere: true },
  reorderable: true,
} as const;

export const RangeScanCreate = defineCommand({
  ...scanning,
  opcode: 0xda,
  name: 'RANGE_SCAN_CREATE',
  request: { value: 'required' },
  doc: 'Lists the keys of a collection in a vbucket, between two keys or a sample, and answers an id to go on with.',
});

export const RangeScanContinue = defineCommand({
  ...scanning,
  opcode: 0xdb,
  name: 'RANGE_SCAN_CONTINUE',
  request: { extras: [28] },
  doc: 'The next documents of a scan, or their keys.',
});

export const RangeScanCancel = defineCommand({
  ...scanning,
  opcode: 0xdc,
  name: 'RANGE_SCAN_CANCEL',
  request: { extras: [16] },
  doc: 'Ends a scan.',
});
