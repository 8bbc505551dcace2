// Replies that are sent after their request was run. The whole path of such a reply:
//   1. `Client.holdReply` creates a HeldReply, which the connection counts. The functions below call it for durable writes, for
//      documents on disk and for heavy work; commands call it for work that they start themselves (a login, a list of keys).
//   2. The reply waits: in ServedBucket for a durable write, in Documents for the disk, in HeavyQueue for heavy work. Meanwhile the
//      connection runs only requests that may overtake it; other frames stay unread (AfterFrame.wait).
//   3. The component that it waits for calls `HeldReply.resolve` with a status. The connection appends it to its resolved replies;
//      for the first of them Clients schedules `Connection.resume`.
//   4. `Connection.resume` sends each resolved reply: `writeHeldReply` writes the stored bytes or the status; a reply that holds a
//      frame is run again by `Dispatcher.rerun`, now with the document or the result.
//   5. The connection then runs the frames that waited for these replies.
import { Feature } from '#wire/features.ts';
import { encodeDuration } from '#wire/framing.ts';
import { setDuration } from '#wire/output.ts';
import { Status } from '#wire/status.ts';
import { type HeavyAnswer, heavyAttemptsMax } from '../heavy/jobs.ts';
import type { HeldReply, ReplyOrder } from '../served/held-reply.ts';
import type { Client } from '../session/client.ts';
import { legacyStatus } from './legacy-status.ts';
import { replyStatus } from './reply.ts';
import { AfterFrame, type Request } from './request.ts';

/** A request that has waited for the disk this long, and whose document is not in memory again, gets a temporary failure. */
const fetchingMsMax = 2_000;

/** Moves the reply just written, which begins at `replyStart` of the output, to a held reply, which is sent once the write has its durability level. */
export function holdForDurability(request: Request, replyStart: number): void {
  const { bucket, connection, output, result } = request;
  const { bytes, attachments } = output.removeFrom(replyStart);
  const heldReply = connection.holdReply(request, orderOf(request), bytes);
  heldReply.attachments = attachments;
  bucket.holdUntilDurable(result.pending, heldReply);
  result.pending = 0;
}

/** Holds the reply to a request, whose frame runs again when the reply is resolved. */
export function holdFrame(request: Request, order: ReplyOrder): HeldReply {
  const { connection, frame } = request;
  const heldReply = connection.holdReply(request, order);
  heldReply.frame = Buffer.from(frame.buffer.subarray(frame.start, frame.end));
  return heldReply;
}

/** Holds the frame until its document is read from disk. What the first run wrote after `outputEnd`, and its counts, are undone. */
export function holdForDisk(request: Request, outputEnd: number): AfterFrame {
  const { resumed, counters, documents, environment, output } = request;
  output.rewind(outputEnd);
  counters.gets = request.getsBefore;
  counters.getHits = request.getHitsBefore;
  const nowMs = environment.clock.monotonicMs();
  if (resumed && !mayFetchAgain(resumed, nowMs)) return refuseForNow(request);
  const heldReply = holdFrame(request, orderOf(request));
  heldReply.found = request.found;
  request.found = null;
  heldReply.partial = request.partial;
  request.partial = null;
  heldReply.sinceMs = resumed && resumed.sinceMs >= 0 ? resumed.sinceMs : nowMs;
  heldReply.heavy = resumed && reusable(resumed.heavy);
  heldReply.documents = documents;
  documents.awaitDisk((fetched) => {
    if (typeof fetched === 'object') heldReply.fetched = fetched;
    heldReply.resolve(typeof fetched === 'object' ? Status.success : fetched);
  });
  return AfterFrame.continue;
}

/**
 * Holds the frame until its heavy work is done in another thread. While a connection has heavy work, its next request that needs some
 * stays unread. A frame that is run again is no longer unread, so it is held whatever work the connection has.
 */
export function holdForHeavyWork(request: Request, outputEnd: number): AfterFrame {
  const { resumed, connection, environment, frame, output, work } = request;
  output.rewind(outputEnd);
  request.work = null;
  if (work === null) throw new Error(`${request.command.name} returned Outcome.heavy without work`);
  if (connection.heavyCount > 0 && resumed === null) return waitUncounted(request);
  const attempts = (resumed?.heavy?.attempts ?? 0) + 1;
  if (attempts > heavyAttemptsMax) return refuseForNow(request);
  const heldReply = connection.holdReply(request, orderOf(request));
  heldReply.frame = connection.detachFrame(frame);
  const { job, document = null, stamp = null } = work(heldReply.frame);
  const answer: HeavyAnswer = { result: null, document, stamp, attempts };
  heldReply.lacksRoom = resumed !== null && hasNoRoom(resumed);
  heldReply.heavy = answer;
  connection.heavyCount++;
  const owner = {
    user: request.session.user?.spec.name ?? '',
    isGone: () => connection.isGone,
  };
  const finish = (status: Status): void => {
    connection.heavyCount--;
    heldReply.resolve(status);
  };
  environment.heavy.run(owner, job).then(
    (result) => {
      answer.result = result;
      finish(Status.success);
    },
    (error: Error) => {
      if (!connection.isGone) environment.log.warn('heavy.failed', { reason: error.message });
      finish(Status.temporaryFailure);
    },
  );
  return AfterFrame.continue;
}

/** The frame stays unread. It is counted when it runs again. */
function waitUncounted({ counters, frame, getHitsBefore, getsBefore, session }: Request): AfterFrame {
  counters.gets = getsBefore;
  counters.getHits = getHitsBefore;
  session.user?.meter?.giveBack(frame.needed);
  return AfterFrame.wait;
}

/** Writes a resolved reply to the output of the thread; returns false if the connection must be closed instead. */
export function writeHeldReply(
  connection: Client,
  { environment, output }: Request,
  heldReply: HeldReply,
): boolean {
  const status = heldReply.status ?? Status.internalError;
  if (status === Status.success && heldReply.quiet) return true;
  const { startedMs } = heldReply;
  const duration = startedMs < 0 ? -1 : encodeDuration((environment.clock.monotonicMs() - startedMs) * 1000);
  if (heldReply.bytes.length > 0 && status === Status.success) {
    if (duration >= 0) setDuration(heldReply.bytes, duration);
    output.put(heldReply);
    return true;
  }
  const { session } = connection;
  const sentStatus = session.has(Feature.xerror) ? status : legacyStatus(undefined, session, status);
  if (sentStatus === null) return false;
  const { opcode, opaque, value } = heldReply;
  const body = status === Status.success ? value : value.subarray(0, 0);
  const at = output.reply(opcode, opaque, sentStatus, duration, 0, 0, body.length, 0, 0, 0);
  body.copy(output.buffer, at);
  return true;
}

const refuseForNow = (request: Request): AfterFrame =>
  replyStatus(request, Status.temporaryFailure) ? AfterFrame.continue : AfterFrame.close;

/** Whether later requests of the connection may be answered first. */
export const orderOf = ({ command, framing, session }: Request): ReplyOrder =>
  !framing.barrier && command.reorderable && session.features[Feature.unorderedExecution] === 1
    ? 'unordered'
    : 'ordered';

/**
 * A fetched document may be evicted again before the command is rerun. If memory had no room for it at all, another fetch
 * would not help.
 */
const mayFetchAgain = (resumed: HeldReply, nowMs: number): boolean =>
  !hasNoRoom(resumed) && (resumed.sinceMs < 0 || nowMs - resumed.sinceMs < fetchingMsMax);

const hasNoRoom = ({ fetched, lacksRoom }: HeldReply): boolean => lacksRoom || fetched?.lacksRoom === true;

/**
 * What the next run may use of heavy work that was done. It always continues the number of attempts, so that reads of the disk and heavy work do not
 * alternate for ever. A result with a stamp cannot be used again: its first use wrote into it the CAS and the seqno of a mutation that was not made.
 */
const reusable = (heavy: HeavyAnswer | null): HeavyAnswer | null =>
  heavy && heavy.stamp !== null ? { ...heavy, result: null } : heavy;
