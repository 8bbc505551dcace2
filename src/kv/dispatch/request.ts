// The request that is being run: one object for the thread, filled again for each frame.
import type { Command } from '#wire/define-command.ts';
import { emptyFrame, type Frame } from '#wire/frame.ts';
import { emptyFraming, type Framing } from '#wire/framing.ts';
import type { Output } from '#wire/output.ts';
import type { Status } from '#wire/status.ts';
import { type DocumentCounts, noCounts } from '../activity.ts';
import type { FoundKey } from '../bucket/random-search.ts';
import {
  type Documents,
  emptyItemView,
  emptyMutation,
  type ItemView,
  type MutationRequest,
  type MutationResult,
  type StoreMode,
} from '../data/documents.ts';
import type { HeavyAnswer, MadeWork } from '../heavy/jobs.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { Client } from '../session/client.ts';
import type { Session } from '../session/session.ts';
import type { Environment } from './environment.ts';
import { Scratch } from './scratch.ts';

/**
 * What a command answers instead of a status: it wrote its reply itself; the reply comes later; or it is run again once the
 * heavy work that it gave the request is done.
 */
export const Outcome = { replied: -1, later: -2, close: -3, heavy: -6 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

/** Gets the request's frame in memory of its own. */
export type MakeWork = (frame: Buffer) => MadeWork;

export type Handler = (request: Request) => Status | Outcome;

export class Request {
  readonly environment: Environment;
  readonly output: Output;
  frame: Frame = emptyFrame();
  readonly framing: Framing = emptyFraming();
  connection!: Client;
  session!: Session;
  command!: Command;
  /** Set for commands that need a bucket. */
  bucket!: ServedBucket;
  documents!: Documents;
  /** Of the collection of the key. */
  counters: DocumentCounts = noCounts();
  /** The document key with its collection id in front, and the id. */
  key: Buffer = Buffer.alloc(0);
  keyStart = 0;
  keyEnd = 0;
  collection = 0;
  /** The count of gets before the command. */
  getsBefore = 0;
  /** Set when the command runs once more, after a read from disk. */
  again: HeldReply | null = null;
  /** What the command found before it had to wait for the disk. */
  found: FoundKey | null = null;
  /** Makes the heavy work of a command out of the frame's own copy. */
  work: MakeWork | null = null;
  /** What came of it, when the command runs again. */
  heavy: HeavyAnswer | null = null;
  /** Bytes that the command looked through, beside those of its frame and its reply. */
  workBytes = 0;
  /** Bits the user holds where this request acts. */
  privileges = 0;
  /** What the client is told beside the status. */
  context = '';
  /** When the request was begun, for the server duration; below zero when that was not asked for. */
  startedMs = -1;

  readonly view: ItemView = emptyItemView();
  readonly mutation: MutationRequest = emptyMutation();
  readonly result: MutationResult = { casHi: 0, casLo: 0, seqno: 0, pending: 0 };
  readonly scratch = new Scratch();
  readonly keyScratch = Buffer.alloc(256);

  constructor(environment: Environment, output: Output) {
    this.environment = environment;
    this.output = output;
  }

  /** Has the work done, and the command run again. */
  giveWork(make: MakeWork): Outcome {
    this.work = make;
    return Outcome.heavy;
  }

  /** Answers a status together with the reason. */
  refuse(status: Status, context: string): Status {
    this.context = context;
    return status;
  }
}

/** Fills the mutation with what the frame says and the rest with the plainest choice. */
export function beginMutation(request: Request, mode: StoreMode): MutationRequest {
  const { mutation, frame, framing } = request;
  mutation.vb = frame.vb;
  mutation.key = request.key;
  mutation.keyStart = request.keyStart;
  mutation.keyEnd = request.keyEnd;
  mutation.value = frame.buffer;
  mutation.valueStart = frame.valueStart;
  mutation.valueEnd = frame.end;
  mutation.datatype = 0;
  mutation.flags = 0;
  mutation.expiry = 0;
  mutation.preserveExpiry = framing.preserveTtl;
  mutation.casHi = frame.casHi;
  mutation.casLo = frame.casLo;
  mutation.mode = mode;
  mutation.overTombstone = false;
  mutation.keepXattrs = false;
  mutation.durability = framing.durabilityLevel as MutationRequest['durability'];
  mutation.durabilityTimeoutMs = framing.durabilityTimeoutMs;
  return mutation;
}
