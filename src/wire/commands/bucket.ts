// Commands about a bucket as a whole, its collections and its vbuckets.
import { defineCommand } from '../define-command.ts';

export const Stat = defineCommand({
  opcode: 0x10,
  name: 'STAT',
  session: 'bucket',
  request: { key: 'optional', value: 'optional' },
  duringWarmup: true,
  withoutBucket: true,
  doc: 'Statistics of a group, one packet each; an empty packet ends the list. Groups about the bucket require simpleStats in the whole bucket, groups about collections in the collections that they show, groups about a key read, groups about the node an administrator.',
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
  doc: 'The failover log of a vbucket: uuid and first seqno of each entry, newest first.',
});

export const GetAllVbSeqnos = defineCommand({
  opcode: 0x48,
  name: 'GET_ALL_VB_SEQNOS',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [0, 4, 8] },
  reorderable: true,
  doc: 'The highest seqno of every vbucket in a given state, or of one collection in each of them.',
});

export const SeqnoPersistence = defineCommand({
  opcode: 0xb7,
  name: 'SEQNO_PERSISTENCE',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [8] },
  doc: 'Replies once a seqno of the vbucket is persisted.',
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
  // Room for the largest number of keys that one request may name.
  request: { value: 'required', valueBytesMax: 2 * 1024 * 1024 },
  doc: 'For each named key, whether the document is in memory, persisted or not found.',
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
  doc: 'Keys of a collection in a vbucket in key order, from a start key.',
});

export const EvictKey = defineCommand({
  opcode: 0x93,
  name: 'EVICT_KEY',
  session: 'bucket',
  privilege: { all: ['read'] },
  request: { key: 'document' },
  doc: 'Evicts a persisted document from memory; for administrators.',
});

export const GetRandomKey = defineCommand({
  opcode: 0xb6,
  name: 'GET_RANDOM_KEY',
  session: 'bucket',
  privilege: { all: ['read'], anywhere: true },
  request: { extras: [0, 4, 5] },
  doc: 'A random document of a collection.',
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
  doc: 'Starts a scan of a collection in a vbucket, over a key range or a sample; the reply is the scan id.',
});

export const RangeScanContinue = defineCommand({
  ...scanning,
  opcode: 0xdb,
  name: 'RANGE_SCAN_CONTINUE',
  request: { extras: [28] },
  doc: 'The next documents or keys of a scan.',
});

export const RangeScanCancel = defineCommand({
  ...scanning,
  opcode: 0xdc,
  name: 'RANGE_SCAN_CANCEL',
  request: { extras: [16] },
  doc: 'Cancels a scan.',
});
