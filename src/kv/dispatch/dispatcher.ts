// The only path from a frame to a command: finds the command, checks layout, session, collection and privileges, runs the
// command, then writes, holds or drops its reply.
import { commandTable } from '#wire/commands/index.ts';
import { type Command, keyRules, layoutProblem, type PrivilegeName } from '#wire/define-command.ts';
import { Feature } from '#wire/features.ts';
import { emptyFrame, type Frame, frameBytesMax, Magic, readFrame } from '#wire/frame.ts';
import { clearFraming, readFraming } from '#wire/framing.ts';
import type { Output } from '#wire/output.ts';
import { Datatype, Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import type { HeldReply } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { holdForDisk, holdForDurability, holdForHeavyWork } from './delayed-reply.ts';
import { readDocumentKey } from './document-key.ts';
import type { Environment } from './environment.ts';
import { refuseMissing } from './missing-privileges.ts';
import { replyStatus, replyUnreadable } from './reply.ts';
import { AfterFrame, type CommandResult, type Handler, isStatus, Outcome, Request } from './request.ts';

/** A command with its handler and everything that can be computed once. */
interface Entry {
  readonly command: Command;
  readonly handler: Handler;
  readonly needsAll: number;
  readonly needsAny: number;
  readonly anywhere: boolean;
  readonly datatypes: number;
  /** Booleans for the command's string options: comparing strings costs a call. */
  readonly needsSession: boolean;
  readonly needsBucket: boolean;
  readonly quietOnMiss: boolean;
  readonly quietOnSuccess: boolean;
}

/** Limit of held replies of one connection. */
const heldMax = 1024;

export class Dispatcher {
  readonly request: Request;
  private readonly entries: readonly (Entry | undefined)[];
  private readonly heldFrame = emptyFrame();

  /** @throws Error if a declared command has no handler. */
  constructor(environment: Environment, output: Output, handlers: ReadonlyMap<Command, Handler>) {
    this.request = new Request(environment, output);
    this.entries = commandTable.map((command) => command && entryOf(command, handlers.get(command)));
  }

  /** Runs the frame. The reply is written to the output, or held until it can be sent. */
  run(connection: Client, frame: Frame): AfterFrame {
    if (frame.magic === Magic.clientResponse) return AfterFrame.continue;
    if (frame.magic === Magic.response || frame.magic === Magic.altResponse)
      return receiveResponse(connection);
    const { request } = this;
    const { session } = connection;
    request.connection = connection;
    request.session = session;
    request.frame = frame;
    request.context = '';
    const entry = this.entries[frame.opcode];
    const isTraced = session.features[Feature.tracing] === 1;
    request.startedMs = isTraced
      ? (request.resumed?.startedMs ?? request.environment.clock.monotonicMs())
      : -1;
    if (entry) request.command = entry.command;
    const before = request.output.end;
    try {
      return this.conclude(request, entry, this.attempt(request, entry), before);
    } catch (error) {
      return this.fail(request, error, before);
    }
  }

  /** An exception is a bug in the node, or a lack of memory; it closes this connection and does not end the process. */
  private fail(request: Request, error: unknown, before: number): AfterFrame {
    request.output.rewind(before);
    request.environment.log.error('command.failed', {
      opcode: request.frame.opcode,
      error: error instanceof Error ? error.stack : String(error),
    });
    replyStatus(request, Status.internalError);
    return AfterFrame.close;
  }

  /** Runs a held frame again, with the document that was fetched for it or the result of its heavy work. */
  rerun(connection: Client, heldReply: HeldReply): AfterFrame {
    readFrame(heldReply.frame, 0, heldReply.frame.length, this.heldFrame, frameBytesMax);
    this.request.resumed = heldReply;
    this.request.found = heldReply.found;
    this.request.heavy = heldReply.heavy;
    heldReply.documents?.provideFetched(heldReply.fetched);
    try {
      return this.run(connection, this.heldFrame);
    } finally {
      heldReply.documents?.provideFetched(null);
      this.request.resumed = null;
      this.request.found = null;
      this.request.partial = null;
      this.request.heavy = null;
    }
  }

  /** Replies to a malformed frame; the connection is closed afterwards. */
  refuse(connection: Client, frame: Frame): void {
    this.request.frame = frame;
    replyUnreadable(this.request, connection.session);
  }

  /** Checks the request and runs the command. */
  private attempt(request: Request, entry: Entry | undefined): CommandResult {
    const checked = this.check(request, entry);
    if (checked !== Status.success || !entry) return checked;
    request.result.pending = 0;
    request.getsBefore = request.counters.gets;
    request.getHitsBefore = request.counters.getHits;
    const outcome = entry.handler(request);
    if (outcome === Status.locked) request.counters.lockErrors++;
    return outcome;
  }

  private check(request: Request, entry: Entry | undefined): CommandResult {
    const { connection, frame, framing } = request;
    // Responses without a request, and requests that only servers send.
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
      request.resumed === null &&
      !mayOvertake(connection, command, framing.barrier)
    )
      return Outcome.wait;
    const problem = layoutProblem(command, frame);
    if (problem !== null) return request.refuse(Status.invalidArguments, problem);
    if ((frame.datatype & ~entry.datatypes) !== 0 || !isNegotiated(request)) {
      return request.refuse(Status.invalidArguments, 'Request datatype is not allowed here');
    }
    return entry.needsSession ? checkSession(request, entry) : Status.success;
  }

  /** Sends, holds or drops the reply, according to the result of the command. */
  private conclude(
    request: Request,
    entry: Entry | undefined,
    outcome: CommandResult,
    before: number,
  ): AfterFrame {
    if (outcome === Outcome.wait) return AfterFrame.wait;
    if (outcome === Outcome.notResident) return holdForDisk(request, before);
    if (outcome === Outcome.heavy) return holdForHeavyWork(request, before);
    if (outcome === Outcome.close) return AfterFrame.close;
    if (outcome === Outcome.later) return AfterFrame.continue;
    if (isStatus(outcome)) {
      if (outcome === Status.keyNotFound && entry?.quietOnMiss) return AfterFrame.continue;
      if (!replyStatus(request, outcome)) return AfterFrame.close;
      if (outcome === Status.authStale) return AfterFrame.close;
    }
    if (request.result.pending > 0 && (outcome === Outcome.replied || outcome === Status.success)) {
      holdForDurability(request, before);
    } else if (entry?.quietOnSuccess && (outcome === Outcome.replied || outcome === Status.success)) {
      request.output.rewind(before);
    }
    return AfterFrame.continue;
  }
}

/** The server sends requests only on change stream connections, so only those may send responses. */
function receiveResponse({ streamer }: Client): AfterFrame {
  streamer?.answered();
  return streamer ? AfterFrame.continue : AfterFrame.close;
}

function entryOf(command: Command, handler: Handler | undefined): Entry {
  if (!handler) throw new Error(`${command.name} is declared but has no handler`);
  const bitsOf = (names: readonly PrivilegeName[] | undefined) =>
    (names ?? []).reduce((bits, name) => bits | Privilege[name], 0);
  return {
    command,
    handler,
    needsAll: bitsOf(command.privilege.all),
    needsAny: bitsOf(command.privilege.any),
    anywhere: command.privilege.anywhere === true,
    // Clients set the JSON bit on any value; the server determines it from the bytes.
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

/** With unordered execution, reorderable commands may overtake held replies. */
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
  if (session.user.meter !== null && request.resumed === null) {
    const limited = session.user.meter.admit(environment.clock.monotonicMs(), request.frame.needed);
    if (limited !== Status.success) return request.refuse(limited, 'A limit of the user is reached');
  }
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
  if (entry.command.keyRule !== keyRules.document) {
    request.privileges = entry.anywhere ? access.anywhere : access.bucketWide;
    return checkPrivileges(request, entry);
  }
  const status = readDocumentKey(request);
  if (status !== Status.success) return status;
  request.privileges = access.bitsOf(request.collection);
  if (request.privileges === 0) return hiddenCollection(request, entry);
  request.counters = bucket.collectionCounts.countsOf(request.collection);
  return checkPrivileges(request, entry);
}

/** An unknown collection and one that is hidden from the user get the same reply. */
function hiddenCollection(request: Request, entry: Entry): Status {
  const isThere = request.bucket.collections.get(request.collection) !== undefined;
  if (isThere && !request.session.has(Feature.collections))
    return checkPrivileges(request, entry) || Status.noAccess;
  return request.refuse(Status.unknownCollection, 'Unknown collection');
}

function checkPrivileges(request: Request, entry: Entry): Status {
  const { privileges } = request;
  if ((privileges & entry.needsAll) !== entry.needsAll)
    return refuseMissing(request, entry.needsAll & ~privileges);
  if (entry.needsAny !== 0 && (privileges & entry.needsAny) === 0)
    return refuseMissing(request, entry.needsAny, 'one');
  return Status.success;
}
