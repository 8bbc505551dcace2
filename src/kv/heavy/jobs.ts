// Work on values that is too long for the data thread. It is done elsewhere on memory that nobody changes meanwhile, and the
// command is run again with what came of it.
import type { SubdocContext, SubdocDocument } from '../subdoc/document.ts';
import type { LookupOutcome, MutationOutcome } from '../subdoc/execute.ts';
import type { DecodeContext } from '../subdoc/specs.ts';
import type { Judgement } from '../value/judge.ts';

/** Of work that takes about as long as this many bytes of the worst JSON; more is not for the data thread. */
export const heavyBytes = 64 * 1024;

export interface JudgeJob {
  kind: 'judge';
  bytes: Buffer;
  typed: number;
}

/** The request as it was sent, and the document that it is about. */
export interface SubdocJob {
  kind: 'lookup' | 'mutation';
  opcode: number;
  extras: Buffer;
  specs: Buffer;
  decoding: DecodeContext;
  document: SubdocDocument;
  context: SubdocContext;
}

export type HeavyJob = JudgeJob | SubdocJob;
export type HeavyResult = Judgement | LookupOutcome | MutationOutcome;

/** Whose work it is. */
export interface HeavyOwner {
  /** Users get their turn one after the other. */
  readonly user: string;
  /** Nobody waits for the result any more. */
  isGone(): boolean;
}

export interface HeavyWork {
  /** Whether the user may add so much to what waits. */
  hasRoom(user: string, bytes: number): boolean;
  run(owner: HeavyOwner, job: HeavyJob): Promise<HeavyResult>;
  stop(): Promise<void>;
}

/** The document that is worked on; one with another CAS is another. */
export interface WorkedOn {
  casHi: number;
  casLo: number;
  locked: boolean;
}

/** CAS and seqno of the mutation to come, which nobody knows before it is stored: random numbers stand for them meanwhile. */
export interface MutationStamp {
  casHi: number;
  casLo: number;
  seqno: number;
}

/** What a command gives to be done, and wants back in its second run. */
export interface MadeWork {
  job: HeavyJob;
  document?: WorkedOn;
  stamp?: MutationStamp;
  bytes?: Buffer;
}

/** The result as a held reply keeps it. */
export interface HeavyAnswer {
  /** Null until it is there. */
  result: HeavyResult | null;
  readonly document: WorkedOn | null;
  readonly stamp: MutationStamp | null;
  readonly bytes: Buffer | null;
  /** How often it was worked on, because the document changed. */
  readonly attempts: number;
}

export const heavyAttemptsMax = 100;

/** A copy that another thread can read without another one. */
export function sharedCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.from(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return copy;
}

/** A document with the same CAS is the same: each change gives it another. */
export const isSameDocument = ({ document }: HeavyAnswer, now: { casHi: number; casLo: number }): boolean =>
  document !== null && document.casHi === now.casHi && document.casLo === now.casLo;
