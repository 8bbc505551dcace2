// Prepares sub-document operations: the stored document in the form that they read, and the features and privileges of the session.
import type { Random } from '#ports/random.ts';
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { clientCasHi, clientCasLo } from '../dispatch/reply.ts';
import type { CommandResult, Outcome, Request } from '../dispatch/request.ts';
import { heavyBytes, type MutationStamp, type SubdocJob, sharedValue } from '../heavy/jobs.ts';
import { type SubdocContext, type SubdocDocument, unseenDocument } from '../subdoc/document.ts';
import type { SubdocFeatures, SubdocRequest } from '../subdoc/request.ts';
import type { DecodeContext } from '../subdoc/specs.ts';
import { itemRoom, plainValue } from './values.ts';

const noValue = Buffer.alloc(0);

/** Result of `findDocument`; shared, overwritten by each call. */
const document: SubdocDocument = { ...unseenDocument };

/** Looks up the request's document or its tombstone; returns a status if the lookup fails. */
export function findDocument(request: Request, isReplicaRead = false): SubdocDocument | CommandResult {
  const { documents, frame, view, key, keyStart, keyEnd } = request;
  request.counters.gets++;
  const status = isReplicaRead
    ? documents.findReplica(frame.vb, key, keyStart, keyEnd, view)
    : documents.findAny(frame.vb, key, keyStart, keyEnd, view);
  document.exists = status === Status.success;
  document.value = noValue;
  if (status === Status.keyNotFound) return document;
  if (status !== Status.success) return status;
  request.counters.getHits++;
  const value = plainValue(view, request);
  document.isDeleted = view.isDeleted;
  document.datatype = view.datatype;
  document.value = value.buffer.subarray(value.start, value.end);
  document.flags = view.flags;
  document.expiry = view.expiry;
  document.casHi = clientCasHi(view);
  document.casLo = clientCasLo(view);
  document.seqno = view.seqno;
  document.rev = view.rev;
  document.vbuuidHi = request.bucket.uuidHi(frame.vb);
  document.vbuuidLo = request.bucket.uuidLo(frame.vb);
  document.lastModified = Math.floor((view.casHi * 2 ** 32 + view.casLo) / 1e9);
  return document;
}

/** Whether the operations take too long for the data thread. */
export function isHeavy(request: Request, { value }: SubdocDocument, { specs }: SubdocRequest): boolean {
  const workBytes = workOf(value, specs);
  if (workBytes > heavyBytes) return true;
  request.workBytes += workBytes + specs.length * specWork;
  return false;
}

/** Work of an operation on a small document, in bytes. */
const specWork = 512;

/** Upper bound of the work in bytes: each path may lead through the whole document. */
const workOf = (value: Buffer, specs: SubdocRequest['specs']): number =>
  value.length * specs.length + specs.reduce((sum, spec) => sum + spec.value.length, 0);

/** Defers the operations to another thread, with the document as it is now. */
export function offload(request: Request, kind: SubdocJob['kind'], found: SubdocDocument): Outcome | Status {
  const user = request.session.user?.spec.name ?? '';
  if (!request.environment.heavy.hasRoom(user, found.value.length))
    return request.refuse(Status.temporaryFailure, 'Too much work on large documents is queued');
  const { frame, view } = request;
  const { opcode, start } = frame;
  const [extrasStart, keyStart] = [frame.extrasStart - start, frame.keyStart - start];
  const valueStart = frame.valueStart - start;
  const decoding = decodingOf(request);
  const stamp = randomPlaceholders(request.environment.random);
  const context = { ...contextOf(request), ...stamp };
  const room = itemRoom(request);
  const copy = { ...found, value: sharedValue(found.value) };
  const { casHi, casLo, isLocked } = view;
  const document = found.exists ? { casHi, casLo, isLocked } : noDocument;
  return request.deferWork((bytes) => {
    const extras = bytes.subarray(extrasStart, keyStart);
    const specs = bytes.subarray(valueStart);
    return { job: { kind, opcode, extras, specs, decoding, document: copy, context, room }, document, stamp };
  });
}

/** Version of a missing document: the result is valid only if it is still missing. */
const noDocument = { casHi: 0, casLo: 0, isLocked: false };

/** Placeholders for CAS and seqno, which are known only when the mutation is stored: random, so that they can be found in the result and replaced. */
function randomPlaceholders(random: Random): MutationStamp {
  const bytes = random.bytes(14);
  return { casHi: bytes.readUInt32LE(0), casLo: bytes.readUInt32LE(4), seqno: bytes.readUIntLE(8, 6) };
}

/** The negotiated features, for the decoder. */
export function decodingOf(request: Request): DecodeContext {
  const { session, frame } = request;
  const features: SubdocFeatures = {
    xattr: session.has(Feature.xattr),
    // Published clients use these two if the bucket's capabilities name them, without negotiating them with HELLO.
    documentMacro: true,
    replaceBodyWithXattr: true,
    replicaRead: session.has(Feature.subdocReplicaRead),
    multiXattrKeys: session.has(Feature.multipleXattrKeys),
    binaryXattr: session.has(Feature.subdocBinaryXattr),
  };
  return { features, hasCas: frame.casHi !== 0 || frame.casLo !== 0 };
}

/** Privileges of the user, the time, and CAS and seqno that the mutation will get. */
export function contextOf(request: Request): SubdocContext {
  const { privileges, result, environment } = request;
  return {
    casHi: result.casHi,
    casLo: result.casLo,
    seqno: result.seqno,
    mayReadSystemXattrs: (privileges & Privilege.systemXattrRead) !== 0,
    mayWriteSystemXattrs: (privileges & Privilege.systemXattrWrite) !== 0,
    wallSeconds: Math.floor(environment.clock.wallMs() / 1000),
    hlcMode: 'real',
  };
}

export const extrasOf = ({ frame }: Request): Buffer =>
  frame.buffer.subarray(frame.extrasStart, frame.keyStart);
export const specsOf = ({ frame }: Request): Buffer => frame.buffer.subarray(frame.valueStart, frame.end);

/** True if the decoder returned a status instead of a request. */
export const isRefused = (decoded: SubdocRequest | Status): decoded is Status => typeof decoded === 'number';
