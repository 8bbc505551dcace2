// Commands that append bytes to a stored value or prepend them.
import { Datatype, Status } from '#wire/status.ts';
import { type ItemView, StoreMode } from '../data/documents.ts';
import { replyMutation } from '../dispatch/reply.ts';
import { beginMutation, Outcome, type Request } from '../dispatch/request.ts';
import { heavyBytes, isSameDocument } from '../heavy/jobs.ts';
import { isJson } from '../value/json.ts';
import type { Judgement } from '../value/judge.ts';
import { bodyBytesLimit } from '../value/xattrs.ts';
import { bodyOf, judge, plainValue, refusalOf } from './values.ts';

/** APPEND, APPENDQ. */
export const append = (request: Request): Status | Outcome => concat(request, true);
/** PREPEND, PREPENDQ. */
export const prepend = (request: Request): Status | Outcome => concat(request, false);

function concat(request: Request, isBehind: boolean): Status | Outcome {
  const { view, frame } = request;
  if ((frame.datatype & Datatype.xattr) !== 0) {
    return request.refuse(Status.invalidArguments, 'Attributes cannot be appended or prepended');
  }
  const found = request.documents.find(frame.vb, request.key, request.keyStart, request.keyEnd, view);
  if (found === Status.keyNotFound) return Status.notStored;
  if (found !== Status.success) return found;
  const mutation = beginMutation(request, StoreMode.replace);
  const status = takeComposed(request) ?? compose(request, view, isBehind);
  if (status !== Status.success) return status;
  mutation.flags = view.flags;
  mutation.preserveExpiry = true;
  mutation.keepXattrs = true;
  const stored = request.documents.store(mutation, request.result);
  if (stored !== Status.success) return stored;
  request.counters.sets++;
  replyMutation(request, request.result);
  return Outcome.replied;
}

/** Uses the value that was composed and validated as heavy work, if the document is unchanged; else returns null. */
function takeComposed({ heavy, mutation, view }: Request): Status | null {
  if (!heavy?.bytes || !isSameDocument(heavy, view)) return null;
  mutation.value = heavy.bytes;
  mutation.valueStart = 0;
  mutation.valueEnd = heavy.bytes.length;
  mutation.datatype = (heavy.result as Judgement).isJson ? Datatype.json : Datatype.raw;
  return Status.success;
}

/** Composes the new body and puts it into the mutation. */
function compose(request: Request, view: ItemView, isBehind: boolean): Status | Outcome {
  const { frame, mutation } = request;
  const added = { buffer: frame.buffer, start: frame.valueStart, end: frame.end };
  if ((frame.datatype & Datatype.snappy) !== 0) {
    const judgement = judge(request, Datatype.snappy, frame.valueStart, frame.end);
    if (judgement === null) return Outcome.heavy;
    const refusal = refusalOf(request, judgement);
    if (refusal !== Status.success) return refusal;
    added.buffer = judgement.plain ?? added.buffer;
    added.start = 0;
    added.end = added.buffer.length;
  }
  const value = plainValue(view, request);
  const start = bodyOf(view, value);
  const oldBytes = value.end - start;
  const addedBytes = added.end - added.start;
  const bytes = oldBytes + addedBytes;
  if (bytes > bodyBytesLimit) return Status.tooBig;
  const isHeavy = bytes > heavyBytes;
  const user = request.session.user?.spec.name ?? '';
  if (isHeavy && !request.environment.heavy.hasRoom(user, bytes))
    return request.refuse(Status.temporaryFailure, 'Too much work on large documents is queued');
  const body = isHeavy ? Buffer.from(new SharedArrayBuffer(bytes)) : request.scratch.room(bytes);
  value.buffer.copy(body, isBehind ? 0 : addedBytes, start, value.end);
  added.buffer.copy(body, isBehind ? oldBytes : 0, added.start, added.end);
  if (isHeavy) return judgeComposed(request, view, body);
  mutation.value = body;
  mutation.valueStart = 0;
  mutation.valueEnd = bytes;
  mutation.datatype = isJson(body, 0, bytes) ? Datatype.json : Datatype.raw;
  return Status.success;
}

function judgeComposed(request: Request, view: ItemView, bytes: Buffer): Outcome {
  const { casHi, casLo, locked } = view;
  const document = { casHi, casLo, locked };
  return request.deferWork(() => ({ job: { kind: 'judge', bytes, typed: 0 }, document, bytes }));
}
