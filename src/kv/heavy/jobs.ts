// Heavy work: validation and sub-document operations that would block the data thread. Another thread does it on memory that does not
// change meanwhile, then the command is run again with the result.
import { reportToCollector, sharedMemory } from '#base/shared-memory.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import type { SubdocContext, SubdocDocument } from '../subdoc/document.ts';
import type { LookupOutcome, MutationOutcome } from '../subdoc/execute.ts';
import type { DecodeContext } from '../subdoc/specs.ts';
import type { ValueValidation } from '../value/validate-value.ts';

/** Work on more bytes than this is heavy: the data thread validates this much of the slowest JSON in acceptable time. */
export const heavyBytes = 64 * 1024;

export interface ValidateJob {
  kind: 'validate';
  /** The value, in parts that are joined. */
  parts: readonly Buffer[];
  /** The bits of the datatype for compression and xattrs. */
  encoding: number;
  /**
   * Bytes to reserve before a large value for the header and the key of its item, so that the item can take over the memory of the
   * result; 0 if the result is not what will be stored.
   */
  room: number;
}

/** `stored` is the value if it was joined from parts or put into memory that the item can take over. */
export interface ValidatedValue extends ValueValidation {
  stored: Buffer | null;
}

/** The request as it was sent, and its document. */
export interface SubdocJob {
  kind: 'lookup' | 'mutation';
  opcode: number;
  extras: Buffer;
  specs: Buffer;
  decoding: DecodeContext;
  document: SubdocDocument;
  context: SubdocContext;
  /** The same as `ValidateJob.room`. */
  room: number;
}

export type HeavyJob = ValidateJob | SubdocJob;
export type HeavyResult = ValidatedValue | LookupOutcome | MutationOutcome;

/** The client of a job. */
export interface HeavyOwner {
  /** Jobs are scheduled round robin by user. */
  readonly user: string;
  /** The connection is closed: the result is not needed. */
  isGone(): boolean;
}

export interface HeavyWork {
  /** Whether the queue accepts another job of this size from the user. */
  hasRoom(user: string, bytes: number): boolean;
  run(owner: HeavyOwner, job: HeavyJob): Promise<HeavyResult>;
  stop(): Promise<void>;
}

/** The version of the document that the job works on. */
export interface DocumentVersion {
  casHi: number;
  casLo: number;
  isLocked: boolean;
}

/** CAS and seqno of the mutation. They are assigned only when it is stored, so the job uses random placeholders. */
export interface MutationStamp {
  casHi: number;
  casLo: number;
  seqno: number;
}

/** A job, and what the command needs again when it is run with the result. */
export interface PreparedWork {
  job: HeavyJob;
  document?: DocumentVersion;
  stamp?: MutationStamp;
}

/** The job's result, stored in the reply that waits for it (`HeldReply`). */
export interface HeavyAnswer {
  /** Null until the job is done. */
  result: HeavyResult | null;
  readonly document: DocumentVersion | null;
  readonly stamp: MutationStamp | null;
  /** How often the job was run: again after each change of the document meanwhile. */
  readonly attempts: number;
}

export const heavyAttemptsMax = 100;

/** A copy in shared memory, which another thread can read without copying it again. */
function sharedCopy(bytes: Uint8Array): Buffer {
  const memory = sharedMemory(bytes.length);
  if (memory === null) throw new Error('the system has no memory for a large document');
  reportToCollector(memory);
  const copy = Buffer.from(memory, 0, bytes.length);
  copy.set(bytes);
  return copy;
}

/** The value itself if it is large and in shared memory, which another thread can read, else a copy there. */
export const sharedValue = (value: Buffer): Buffer =>
  value.length >= ownMemoryBytes && value.buffer instanceof SharedArrayBuffer ? value : sharedCopy(value);

/** Each change of a document assigns a new CAS, so an equal CAS means that it is unchanged. */
export const isSameDocument = ({ document }: HeavyAnswer, now: { casHi: number; casLo: number }): boolean =>
  document !== null && document.casHi === now.casHi && document.casLo === now.casLo;
