// A plain write for benchmarks of the engine. They set the vbucket and the key's place in its buffer for each write.
import { DurabilityLevel, type MutationRequest, StoreMode } from '../../src/kv/data/documents.ts';

/** By which SDKs mark JSON documents. */
const jsonFlags = 0x02000000;

export const aRequest = (key: Buffer, valueBytes: number): MutationRequest => ({
  vb: 0,
  key,
  keyStart: 0,
  keyEnd: 0,
  value: Buffer.alloc(valueBytes, 'v'),
  valueStart: 0,
  valueEnd: valueBytes,
  memory: null,
  datatype: 0,
  flags: jsonFlags,
  expiry: 0,
  preserveExpiry: false,
  casHi: 0,
  casLo: 0,
  mode: StoreMode.set,
  countsTombstone: false,
  keepXattrs: true,
  hasRoom: false,
  durability: DurabilityLevel.none,
  durabilityTimeoutMs: 0,
});
