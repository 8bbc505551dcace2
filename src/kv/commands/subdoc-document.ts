// The stored document in the form that sub-document operations read, and what the session lets them do.
import { Feature } from '#wire/features.ts';
import { Status } from '#wire/status.ts';
import { Privilege } from '../admin.ts';
import { shownCasHi, shownCasLo } from '../dispatch/reply.ts';
import type { Request } from '../dispatch/request.ts';
import type { SubdocContext, SubdocDocument } from '../subdoc/document.ts';
import type { SubdocFeatures, SubdocRequest } from '../subdoc/request.ts';
import type { DecodeContext } from '../subdoc/specs.ts';
import { plainValue } from './values.ts';

const noValue = Buffer.alloc(0);

/** One document for the thread, filled again by each call. */
const document: SubdocDocument = {
  exists: false,
  deleted: false,
  datatype: 0,
  value: noValue,
  flags: 0,
  expiry: 0,
  casHi: 0,
  casLo: 0,
  seqno: 0,
  rev: 0,
  vbuuidHi: 0,
  vbuuidLo: 0,
  lastModified: 0,
};

/** Looks the request’s document up; a tombstone is one too. Answers a status when it cannot be looked up. */
export function findDocument(request: Request): SubdocDocument | Status {
  const { frame, view, key, keyStart, keyEnd } = request;
  request.counters.gets++;
  const status = request.documents.findAny(frame.vb, key, keyStart, keyEnd, view);
  document.exists = status === Status.success;
  document.value = noValue;
  if (status === Status.keyNotFound) return document;
  if (status !== Status.success) return status;
  request.counters.getHits++;
  const value = plainValue(view);
  document.deleted = view.deleted;
  document.datatype = view.datatype;
  document.value = value.buffer.subarray(value.start, value.end);
  document.flags = view.flags;
  document.expiry = view.expiry;
  document.casHi = shownCasHi(view);
  document.casLo = shownCasLo(view);
  document.seqno = view.seqno;
  document.rev = view.rev;
  document.vbuuidHi = request.bucket.uuidHi(frame.vb);
  document.vbuuidLo = request.bucket.uuidLo(frame.vb);
  document.lastModified = Math.floor((view.casHi * 2 ** 32 + view.casLo) / 1e9);
  return document;
}

/** What the session negotiated, for the decoder. */
export function decodingOf(request: Request): DecodeContext {
  const { session, frame } = request;
  const features: SubdocFeatures = {
    xattr: session.has(Feature.xattr),
    // Published clients use these two once the bucket's capabilities name them, without asking in their HELLO.
    documentMacro: true,
    replaceBodyWithXattr: true,
    replicaRead: session.has(Feature.subdocReplicaRead),
    multiXattrKeys: session.has(Feature.multipleXattrKeys),
    binaryXattr: session.has(Feature.subdocBinaryXattr),
  };
  return { features, hasCas: frame.casHi !== 0 || frame.casLo !== 0 };
}

/** What the user may do, and the moment; CAS and seqno are those of the mutation to come. */
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

/** The decoder’s answer is a request or the status that refuses it. */
export const isRefused = (decoded: SubdocRequest | Status): decoded is Status => typeof decoded === 'number';
