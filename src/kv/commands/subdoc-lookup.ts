// Commands that read parts of a document.
import { Status } from '#wire/status.ts';
import { DocFlag } from '#wire/subdoc-opcodes.ts';
import { ownMemoryBytes } from '../data/documents.ts';
import { clientCasHi, clientCasLo, durationOf } from '../dispatch/reply.ts';
import { type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { executeLookup, type LookupOutcome } from '../subdoc/execute.ts';
import { lookupReplyBytes, resultHeadBytes, writeLookupReply, writeResultHead } from '../subdoc/replies.ts';
import type { SubdocRequest } from '../subdoc/request.ts';
import { decodeMultiLookup, decodeSingle } from '../subdoc/specs.ts';
import {
  contextOf,
  decodingOf,
  extrasOf,
  findDocument,
  isHeavy,
  isRefused,
  offload,
  specsOf,
} from './subdoc-document.ts';

/** SUBDOC_GET, SUBDOC_EXISTS, SUBDOC_GET_COUNT: the reply is the value, with the path's status in the header. */
export function singleLookup(request: Request): CommandResult {
  const { opcode } = request.frame;
  const decoded = decodeSingle(opcode, extrasOf(request), specsOf(request), decodingOf(request));
  const outcome = lookUp(request, decoded);
  if (typeof outcome === 'number') return outcome;
  const { status, results } = outcome;
  if (status !== Status.success && status !== Status.subdocSuccessDeleted) return status;
  const value = results[0]?.value ?? Buffer.alloc(0);
  const isAttached = value.length >= ownMemoryBytes;
  const at = beginReply(request, status, value.length, isAttached ? value.length : 0);
  if (isAttached) request.output.attach(value);
  else value.copy(request.output.buffer, at);
  return Outcome.replied;
}

/** SUBDOC_MULTI_LOOKUP: the reply is status and value of each path. */
export function multiLookup(request: Request): CommandResult {
  const decoded = decodeMultiLookup(extrasOf(request), specsOf(request), decodingOf(request));
  const outcome = lookUp(request, decoded);
  if (typeof outcome === 'number') return outcome;
  if (outcome.results.length === 0) return outcome.status;
  const bytes = lookupReplyBytes(outcome);
  if (bytes >= ownMemoryBytes) return replyInParts(request, outcome, bytes);
  const at = beginReply(request, outcome.status, bytes);
  writeLookupReply(outcome, request.output.buffer, at);
  return Outcome.replied;
}

/** A large reply: long values are sent from their own memory. */
function replyInParts(request: Request, outcome: LookupOutcome, bytes: number): Outcome {
  const { output } = request;
  beginReply(request, outcome.status, bytes, bytes);
  for (const { status, value } of outcome.results) {
    const at = output.reserve(resultHeadBytes);
    output.end += resultHeadBytes;
    writeResultHead(status, value, output.buffer, at);
    if (value.length >= ownMemoryBytes) output.attach(value);
    else output.append(value);
  }
  return Outcome.replied;
}

function lookUp(request: Request, decoded: SubdocRequest | Status): LookupOutcome | CommandResult {
  if (isRefused(decoded)) return decoded;
  const { heavy, view } = request;
  if (heavy?.result) {
    // The reply describes the document as it was when the request arrived.
    Object.assign(view, heavy.document);
    return heavy.result as LookupOutcome;
  }
  const document = findDocument(request, (decoded.docFlags & DocFlag.replicaRead) !== 0);
  if (typeof document === 'number') return document;
  if (isHeavy(request, document, decoded)) return offload(request, 'lookup', document);
  return executeLookup(document, decoded, contextOf(request));
}

function beginReply(request: Request, status: Status, valueBytes: number, attachedBytes = 0): number {
  const { frame, output, view } = request;
  const duration = durationOf(request);
  const hi = clientCasHi(view);
  // Without extras and key, and of the datatype 0.
  return output.reply(
    frame.opcode,
    frame.opaque,
    status,
    duration,
    0,
    0,
    valueBytes,
    0,
    hi,
    clientCasLo(view),
    attachedBytes,
  );
}
