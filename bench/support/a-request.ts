// A plain write for benchmarks of the engine.
import { DurabilityLevel, type MutationRequest, StoreMode } from '../../src/kv/data/documents.ts';

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
  flags: 0x02000000,
  expiry: 0,
  preserveExpiry: false,
  casHi: 0,
  casLo: 0,
  mode: StoreMode.set,
  overTombstone: false,
  keepXattrs: true,
  hasRoom: false,
  durability: DurabilityLevel.none,
  durabilityTimeoutMs: 0,
});
