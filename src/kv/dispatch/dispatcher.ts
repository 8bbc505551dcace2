// The only way from a frame to a command: look up, check layout, session, collection and privilege, run, answer, count.
import { commandTable } from '#wire/commands/index.ts';
import { type Command, KeyRule, layoutProblem, type PrivilegeName } from '#wire/define-command.ts';
import { Feature } from '#wire/features.ts';
import { emptyFrame, type Frame, frameBytesMax, Magic, readFrame } from '#wire/frame.ts';
import { clearFraming, readFraming } from '#wire/framing.ts';
import type { Output } from '#wire/output.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { notResident } from '../data/documents.ts';
import { type HeavyAnswer, heavyAttemptsMax } from '../heavy/jobs.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { readDocumentKey } from './document-key.ts';
import type { Environment } from './environment.ts';
import { replyStatus, replyUnreadable } from './reply.ts';
import { type Handler, Outcome, Request } from './request.ts';

/** What the connection does after a frame: go on, put the frame back until what is pending is settled, or hang up. */
export const Verdict = { goOn: 0, wait: 1, hangUp: 2 } as const;
export type Verdict = (typeof Verdict)[keyof typeof Verdict];

/** A command with everything that is worked out once. */
interface Entry {
  readonly command: Command;
  readonly handler: Handler;
  readonly needsAll: number;
  readonly needsAny: number;
  readonly anywhere: boolean;
  readonly datatypes: number;
  /** The command's words as truths: words are compared by a call. */
  readonly needsSession: boolean;
  readonly needsBucket: boolean;
  readonly quietOnMiss: boolean;
  readonly quietOnSuccess: boolean;
}

/** Durable writes and other held replies of one connection at a time. */
const heldMax = 1024;
/** A frame that has waited for the disk so long and lacks something again is not run once more. */
const patienceMs = 2_000;

export class Dispatcher {
  readonly request: Request;
  private readonly entries: readonly (Entry | undefined)[];
  private readonly heldFrame = emptyFrame();

  /** `handlers` says what each declared command does. */
  constructor(environment: Environment, output: Output, handlers: ReadonlyMap<Command, Handler>) {
    this.request = new Request(environment, output);
    this.entries = commandTable.map((command) => command && entryOf(command, handlers.get(command)));
  }

  /** Runs the frame and writes its reply to the output, now or once it is settled. */
  run(connection: Client, frame: Frame): Verdict {
    if (frame.magic === Magic.clientResponse) return Verdict.goOn;
    if (frame.magic === Magic.response || frame.magic === Magic.altResponse) return takeAnswer(connection);
    const { request } = this;
    const { session } = connection;
    request.connection = connection;
    request.session = session;
    request.frame = frame;
    request.context = '';
    const entry = this.entries[frame.opcode];
    const isTraced = session.features[Feature.tracing] === 1;
    request.startedMs = isTraced ? request.environment.clock.monotonicMs() : -1;
    if (entry) request.command = entry.command;
    const before = request.output.end;
    const outcome = this.attempt(request, entry, before);
    return this.conclude(request, entry, outcome, before);
  }

  /** Runs a frame again that lacked something, now that the disk has been asked. */
  runAgain(connection: Client, held: HeldReply): Verdict {
    readFrame(held.frame, 0, held.frame.length, this.heldFrame, frameBytesMax);
    this.request.again = held;
    this.request.found = held.found;
    this.request.heavy = held.heavy;
    held.documents?.provideFetched(held.fetched);
    try {
      return this.run(connection, this.heldFrame);
    } finally {
      held.documents?.provideFetched(null);
      this.request.again = null;
      this.request.found = null;
      this.request.heavy = null;
    }
  }

  /** Answers a frame that cannot be read; the connection hangs up after it. */
  refuse(connection: Client, frame: Frame): void {
    this.request.frame = frame;
    replyUnreadable(this.request, connection.session);
  }

  /** Runs the command, and answers for it when it throws: that is a bug of ours, which must not end the process. */
  private attempt(request: Request, entry: Entry | undefined, before: number): number {
    try {
      const checked = this.check(request, entry);
      if (checked !== Status.success || !entry) return checked;
      request.result.pending = 0;
      request.getsBefore = request.counters.gets;
      const outcome = entry.handler(request);
      if (outcome === Status.locked) request.counters.lockErrors++;
      return outcome;
    } catch (error) {
      request.output.end = before;
      request.environment.log.error('command.failed', {
        opcode: request.frame.opcode,
        error: error instanceof Error ? error.stack : String(error),
      });
      replyStatus(request, Status.internalError);
      return Outcome.close;
    }
  }

  private check(request: Request, entry: Entry | undefined): number {
    const { connection, frame, framing } = request;
    // Answers to what nobody asked, and requests in the direction of clients.
    if (frame.magic !== Magic.request && frame.magic !== Magic.altRequest) return Outcome.close;
    if (!entry) return request.refuse(Status.unknownCommand, 'Unknown command');
    const { command } = entry;
    if (frame.framingStart === frame.extrasStart) clearFraming(framing);
    else {
      const status = checkFraming(request, command);
      if (status !== Status.success) return status;
    }
    if (
      connection.heldCount > 0 &&
      request.again === null &&
      !mayOvertake(connection, command, framing.barrier)
    )
      return mustWait;
    const problem = layoutProblem(command, frame);
    if (problem !== null) return request.refuse(Status.invalidArguments, problem);
    if ((frame.datatype & ~entry.datatypes) !== 0 || !isNegotiated(request)) {
      return request.refuse(Status.invalidArguments, 'Request datatype is not allowed here');
    }
    return entry.needsSession ? checkSession(request, entry) : Status.success;
  }

  private conclude(request: Request, entry: Entry | undefined, outcome: number, before: number): Verdict {
    if (outcome === mustWait) return Verdict.wait;
    if (outcome === notResident) return awaitDisk(request, before);
    if (outcome === Outcome.heavy) return awaitWork(request, before);
    if (outcome === Outcome.close) return Verdict.hangUp;
    if (outcome === Outcome.later) return Verdict.goOn;
    if (outcome >= 0) {
      if (outcome === Status.keyNotFound && entry?.quietOnMiss) return Verdict.goOn;
      if (!replyStatus(request, outcome as Status)) return Verdict.hangUp;
      if (outcome === Status.authStale) return Verdict.hangUp;
    }
    if (request.result.pending > 0 && (outcome === Outcome.replied || outcome === Status.success)) {
      hold(request, before);
    } else if (entry?.quietOnSuccess && (outcome === Outcome.replied || outcome === Status.success)) {
      request.output.end = before;
    }
    return Verdict.goOn;
  }
}

/** Takes the reply just written out of the output until its durable write is settled. */
function hold(request: Request, from: number): void {
  const { bucket, connection, output, result } = request;
  const bytes = Buffer.from(output.buffer.subarray(from, output.end));
  output.end = from;
  bucket.awaitSettled(result.pending, connection.later(request, false, bytes));
  result.pending = 0;
}

/** Puts the frame aside until the disk has been asked, as if it had not been run. */
function awaitDisk(request: Request, before: number): Verdict {
  const { again, connection, counters, documents, environment, frame, output } = request;
  output.end = before;
  counters.gets = request.getsBefore;
  const nowMs = environment.clock.monotonicMs();
  if (again && !mayAskAgain(again, nowMs))
    return replyStatus(request, Status.temporaryFailure) ? Verdict.goOn : Verdict.hangUp;
  const held = connection.later(request, !mayBeOvertaken(request));
  held.frame = Buffer.from(frame.buffer.subarray(frame.start, frame.end));
  held.found = request.found;
  request.found = null;
  held.sinceMs = again && again.sinceMs >= 0 ? again.sinceMs : nowMs;
  held.documents = documents;
  documents.awaitDisk((fetched) => {
    if (typeof fetched === 'object') held.fetched = fetched;
    held.settle(typeof fetched === 'object' ? Status.success : fetched);
  });
  return Verdict.goOn;
}

/** Puts the frame aside until its heavy work is done elsewhere; a connection has one piece at a time. */
function awaitWork(request: Request, before: number): Verdict {
  const { again, connection, environment, frame, output, work } = request;
  output.end = before;
  request.work = null;
  if (work === null) throw new Error(`${request.command.name} gave no work`);
  if (connection.heavyCount > 0) return Verdict.wait;
  const attempts = (again?.heavy?.attempts ?? 0) + 1;
  if (attempts > heavyAttemptsMax)
    return replyStatus(request, Status.temporaryFailure) ? Verdict.goOn : Verdict.hangUp;
  const held = connection.later(request, !mayBeOvertaken(request));
  held.frame = connection.takeFrame(frame);
  const { job, document = null, moment = null, bytes = null } = work(held.frame);
  const answer: HeavyAnswer = { result: null, document, moment, bytes, attempts };
  held.heavy = answer;
  connection.heavyCount++;
  const owner = {
    user: request.session.user?.spec.name ?? '',
    isGone: () => connection.isGone,
  };
  const settle = (status: Status): void => {
    connection.heavyCount--;
    held.settle(status);
  };
  environment.heavy.run(owner, job).then(
    (result) => {
      answer.result = result;
      settle(Status.success);
    },
    (error: Error) => {
      if (!connection.isGone) environment.log.warn('heavy.failed', { reason: error.message });
      settle(Status.temporaryFailure);
    },
  );
  return Verdict.goOn;
}

/** Whether later requests of the connection may be answered first. */
const mayBeOvertaken = ({ command, framing, session }: Request): boolean =>
  !framing.barrier && command.reorderable && session.features[Feature.unorderedExecution] === 1;

/** What was fetched may have left memory before a change could be made. Where it never came in, no change can be. */
const mayAskAgain = ({ fetched, sinceMs }: HeldReply, nowMs: number): boolean =>
  fetched?.stayedOut !== true && (sinceMs < 0 || nowMs - sinceMs < patienceMs);

/** Only what we ask of our own accord has an answer: messages of change streams. */
function takeAnswer({ streamer }: Client): Verdict {
  streamer?.answered();
  return streamer ? Verdict.goOn : Verdict.hangUp;
}

/** Stands for "not now" among the outcomes of a check. */
const mustWait = -4;

function entryOf(command: Command, handler: Handler | undefined): Entry {
  if (!handler) throw new Error(`${command.name} is declared but does nothing`);
  const bitsOf = (names: readonly PrivilegeName[] | undefined) =>
    (names ?? []).reduce((bits, name) => bits | Privilege[name], 0);
  return {
    command,
    handler,
    needsAll: bitsOf(command.privilege.all),
    needsAny: bitsOf(command.privilege.any),
    anywhere: command.privilege.anywhere === true,
    // Clients set the JSON bit on anything; the server decides about it by itself.
    datatypes: command.request.typedValue ? Datatype.json | Datatype.snappy | Datatype.xattr : Datatype.json,
    needsSession: command.session !== 'none',
    needsBucket: command.session === 'bucket',
    quietOnMiss: command.quiet === 'miss',
    quietOnSuccess: command.quiet === 'success',
  };
}

function isNegotiated(request: Request): boolean {
  const { datatype } = request.frame;
  const { features } = request.session;
  if ((datatype & Datatype.snappy) !== 0 && features[Feature.snappy] !== 1) return false;
  return (datatype & Datatype.xattr) === 0 || features[Feature.xattr] === 1;
}

/** Held replies may be overtaken where the client allows it, by commands of which the order does not matter. */
function mayOvertake(connection: Client, command: Command, barrier: boolean): boolean {
  if (barrier || connection.isOrdered || connection.heldCount >= heldMax) return false;
  return command.reorderable && connection.session.features[Feature.unorderedExecution] === 1;
}

function checkFraming(request: Request, command: Command): Status {
  const { frame, framing } = request;
  const status = readFraming(frame.buffer, frame.framingStart, frame.extrasStart, framing);
  if (status !== Status.success) return request.refuse(status, 'Invalid framing extras');
  if (framing.impersonates) return request.refuse(Status.noAccess, 'Requires privilege: Impersonate');
  if (framing.durabilityLevel > 0 && !command.durability) {
    return request.refuse(Status.invalidArguments, 'The command does not support durability requirements');
  }
  if (framing.preserveTtl && !command.preserveTtl) {
    return request.refuse(Status.notSupported, 'The command does not support preserving the expiry');
  }
  if (framing.streamId > 0 && !command.streamId)
    return request.refuse(Status.invalidArguments, 'The command does not take a stream id');
  return Status.success;
}

function checkSession(request: Request, entry: Entry): Status {
  const { session, environment } = request;
  if (!session.user) return request.refuse(Status.noAccess, 'Not authenticated');
  if (!session.refresh(environment.directory)) return Status.authStale;
  if (entry.needsBucket) return checkBucket(request, entry);
  request.privileges = session.user.spec.grants.node;
  return checkPrivileges(request, entry);
}

function checkBucket(request: Request, entry: Entry): Status {
  const { bucket, access } = request.session;
  if (!bucket || !access)
    return entry.command.withoutBucket
      ? Status.success
      : request.refuse(Status.noBucket, 'No bucket selected');
  request.bucket = bucket;
  if (bucket.documents) request.documents = bucket.documents;
  else if (!entry.command.duringWarmup)
    return request.refuse(Status.temporaryFailure, 'The bucket is warming up');
  if (entry.command.keyRule !== KeyRule.document) {
    request.privileges = entry.anywhere ? access.anywhere : access.wide;
    return checkPrivileges(request, entry);
  }
  const status = readDocumentKey(request);
  if (status !== Status.success) return status;
  request.privileges = access.of(request.collection);
  if (request.privileges === 0) return hiddenCollection(request);
  request.counters = bucket.tally.of(request.collection);
  return checkPrivileges(request, entry);
}

/** A collection that is not there and one that the user may not know of look alike. */
function hiddenCollection(request: Request): Status {
  const isThere = request.bucket.collections.get(request.collection) !== undefined;
  if (isThere && !request.session.has(Feature.collections)) return Status.noAccess;
  return request.refuse(Status.unknownCollection, 'Unknown collection');
}

function checkPrivileges(request: Request, entry: Entry): Status {
  const { privileges } = request;
  if ((privileges & entry.needsAll) !== entry.needsAll) return missing(request, entry.needsAll & ~privileges);
  if (entry.needsAny !== 0 && (privileges & entry.needsAny) === 0) return missing(request, entry.needsAny);
  return Status.success;
}

function missing(request: Request, bits: number): Status {
  const names = Object.entries(Privilege).filter(([, bit]) => (bits & bit) !== 0);
  const text = names.map(([name]) => name.charAt(0).toUpperCase() + name.slice(1)).join(' or ');
  return request.refuse(Status.noAccess, `Requires privilege: ${text}`);
}
