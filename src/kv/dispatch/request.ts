// The request that is being run: one object per thread, which the dispatcher overwrites for each frame.
import type { Command } from '#wire/define-command.ts';
import { emptyFrame, type Frame } from '#wire/frame.ts';
import { emptyFraming, type Framing } from '#wire/framing.ts';
import type { Output } from '#wire/output.ts';
import type { Status } from '#wire/status.ts';
import type { FoundKey } from '../bucket/keys/random-search.ts';
import {
  type Documents,
  emptyItemView,
  emptyMutation,
  type ItemView,
  type MutationRequest,
  type MutationResult,
  notResident,
  type StoreMode,
} from '../data/documents.ts';
import { type DocumentCounts, noCounts } from '../document-counts.ts';
import type { HeavyAnswer, PreparedWork } from '../heavy/jobs.ts';
import type { HeldReply, PartialReply } from '../served/held-reply.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import type { Client } from '../session/client.ts';
import type { Session } from '../session/session.ts';
import type { Environment } from './environment.ts';

/** Results of a command that are not a status; all are negative, so that none equals a status. */
export const Outcome = {
  /** The command wrote its reply itself. */
  replied: -1,
  /** The command held its reply and resolves it later. */
  later: -2,
  /** The connection is closed without a reply. */
  close: -3,
  /** Only from the checks: the frame must wait until the held replies of its connection are sent. */
  wait: -4,
  /** `Documents` has to fetch the document from disk; the command is then run again. */
  notResident,
  /** The command deferred heavy work (`deferWork`) and is run again with the result. */
  heavy: -6,
} as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

/** The result of a command: a status, with which the dispatcher replies, or an outcome. */
export type CommandResult = Status | Outcome;

export const isStatus = (result: CommandResult): result is Status => result >= 0;

/** What the connection does after a frame: read the next one, put this one back until held replies are sent, or close. */
export const AfterFrame = { continue: 0, wait: 1, close: 2 } as const;
export type AfterFrame = (typeof AfterFrame)[keyof typeof AfterFrame];

/** Prepares the heavy work from a copy of the request's frame, which it may keep. */
export type PrepareWork = (frame: Buffer) => PreparedWork;

export type Handler = (request: Request) => CommandResult;

const scratchKeptBytes = 1024 * 1024;

/** A reusable buffer in which commands compose values. Its content is valid only until the command returns. */
class Scratch {
  buffer = Buffer.allocUnsafeSlow(4096);

  /** A buffer of at least `bytes`; its previous content is lost. */
  room(bytes: number): Buffer {
    const tooSmall = bytes > this.buffer.length;
    if (tooSmall || (this.buffer.length > scratchKeptBytes && bytes <= scratchKeptBytes)) {
      this.buffer = Buffer.allocUnsafeSlow(Math.max(4096, 2 ** Math.ceil(Math.log2(bytes + 1))));
    }
    return this.buffer;
  }
}

export class Request {
  readonly environment: Environment;
  readonly output: Output;
  frame: Frame = emptyFrame();
  readonly framing: Framing = emptyFraming();
  connection!: Client;
  session!: Session;
  command!: Command;
  /** Set for commands that require a bucket. */
  bucket!: ServedBucket;
  documents!: Documents;
  /** Counters of the key's collection. */
  counters: DocumentCounts = noCounts();
  /** The document key, prefixed by its collection id, and that id. */
  key: Buffer = Buffer.alloc(0);
  keyStart = 0;
  keyEnd = 0;
  collection = 0;
  /** Counts of `counters` before the command, restored if the command must be run again. */
  getsBefore = 0;
  getHitsBefore = 0;
  /** The held reply of a command that is run again; null in the first run. */
  resumed: HeldReply | null = null;
  /** The key that the command found in an earlier run. */
  found: FoundKey | null = null;
  /** What the command has composed of its reply, when it returns `notResident`. */
  partial: PartialReply | null = null;
  /** Set by `deferWork`. */
  work: PrepareWork | null = null;
  /** The result of the deferred work when the command is run again. */
  heavy: HeavyAnswer | null = null;
  /** Bytes that the command processed in addition to its frame and its reply. */
  workBytes = 0;
  /** Privilege bits of the user in the collection, bucket or node that the request acts on. */
  privileges = 0;
  /** Error context that is sent with the status. */
  context = '';
  /** Start of the request, for the server duration; negative if the client did not negotiate tracing. */
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

  /** Defers the work to another thread; the command is run again with its result. */
  deferWork(make: PrepareWork): Outcome {
    this.work = make;
    return Outcome.heavy;
  }

  /** Returns the status and stores its error context. */
  refuse(status: Status, context: string): Status {
    this.context = context;
    return status;
  }
}

/** Initializes the mutation from the frame, and all other fields with defaults. */
export function beginMutation(request: Request, mode: StoreMode): MutationRequest {
  const { mutation, frame, framing } = request;
  mutation.vb = frame.vb;
  mutation.key = request.key;
  mutation.keyStart = request.keyStart;
  mutation.keyEnd = request.keyEnd;
  mutation.value = frame.buffer;
  mutation.valueStart = frame.valueStart;
  mutation.valueEnd = frame.end;
  mutation.memory = null;
  mutation.datatype = 0;
  mutation.flags = 0;
  mutation.expiry = 0;
  mutation.preserveExpiry = framing.preserveTtl;
  mutation.casHi = frame.casHi;
  mutation.casLo = frame.casLo;
  mutation.mode = mode;
  mutation.countsTombstone = false;
  mutation.keepXattrs = false;
  mutation.hasRoom = false;
  mutation.durability = framing.durabilityLevel as MutationRequest['durability'];
  mutation.durabilityTimeoutMs = framing.durabilityTimeoutMs;
  return mutation;
}
