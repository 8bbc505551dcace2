// Commands that change parts of a document. Reading, changing and storing is one synchronous call, so it is atomic.
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { bodyStart } from '#wire/xattr-section.ts';
import { Privilege } from '../admin.ts';
import { StoreMode } from '../data/documents.ts';
import { refuseMissing } from '../dispatch/missing-privileges.ts';
import { beginStatusReply, replyMutation } from '../dispatch/reply.ts';
import { beginMutation, type CommandResult, Outcome, type Request } from '../dispatch/request.ts';
import { type HeavyAnswer, isSameDocument } from '../heavy/jobs.ts';
import type { SubdocDocument } from '../subdoc/document.ts';
import { executeMutation, type MutationOutcome } from '../subdoc/execute.ts';
import { replaceStamp } from '../subdoc/macros.ts';
import { mutationReplyBytes, writeMutationReply } from '../subdoc/replies.ts';
import type { SubdocRequest } from '../subdoc/request.ts';
import { decodeMultiMutation, decodeSingle } from '../subdoc/specs.ts';
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
import { setOwnValue } from './values.ts';

const noValue = Buffer.alloc(0);

/** The single-path mutations: the reply is the new value of a counter or empty, with the path's status in the header. */
export function singleMutation(request: Request): CommandResult {
  const { opcode } = request.frame;
  const outcome = change(
    request,
    decodeSingle(opcode, extrasOf(request), specsOf(request), decodingOf(request)),
  );
  if (typeof outcome === 'number') return outcome;
  const value = outcome.values[0]?.value ?? noValue;
  const at = replyStored(request, outcome.status, value.length);
  value.copy(request.output.buffer, at);
  return Outcome.replied;
}

/** SUBDOC_MULTI_MUTATION: changes all paths or none. */
export function multiMutation(request: Request): CommandResult {
  const decoded = decodeMultiMutation(extrasOf(request), specsOf(request), decodingOf(request));
  const outcome = change(request, decoded);
  if (typeof outcome === 'number') return outcome;
  const { output } = request;
  const bytes = mutationReplyBytes(outcome);
  if (!isStored(outcome)) {
    const at = beginStatusReply(request, outcome.status, bytes);
    writeMutationReply(outcome, output.buffer, at);
    return Outcome.replied;
  }
  const at = replyStored(request, outcome.status, bytes);
  writeMutationReply(outcome, output.buffer, at);
  return Outcome.replied;
}

const isStored = ({ status }: MutationOutcome): boolean =>
  status === Status.success || status === Status.subdocSuccessDeleted;

/** Returns the outcome if it was stored or one of several paths failed, else a status. */
function change(request: Request, decoded: SubdocRequest | Status): MutationOutcome | CommandResult {
  if (isRefused(decoded)) return decoded;
  const missing = privilegesOf(decoded) & ~request.privileges;
  if (missing !== 0) return refuseMissing(request, missing);
  const { documents } = request;
  // First, since deletions to make room get seqnos: macros would have those of another change.
  documents.makeRoom();
  const document = findDocument(request);
  if (typeof document === 'number') return document;
  const refusal = checkLockAndCas(request, decoded, document);
  if (refusal !== Status.success) return refusal;
  documents.peekNext(request.result);
  const outcome = execute(request, decoded, document);
  if (typeof outcome === 'number') return outcome;
  if (outcome.status === Status.subdocMultiPathFailure) return outcome;
  if (!isStored(outcome)) return outcome.status;
  const status = store(request, decoded, document, outcome);
  return status === Status.success ? outcome : status;
}

/** Runs the operations, or uses the result of heavy work if the document is unchanged since. */
function execute(
  request: Request,
  decoded: SubdocRequest,
  document: SubdocDocument,
): MutationOutcome | Outcome | Status {
  const { counters, heavy, view } = request;
  if (!isHeavy(request, document, decoded)) return executeMutation(document, decoded, contextOf(request));
  const stored = document.exists ? view : { casHi: 0, casLo: 0 };
  if (heavy?.result && isSameDocument(heavy, stored)) return withStamp(request, heavy, decoded);
  // The command runs again with the result of the heavy work, and counts its read then.
  counters.gets--;
  if (document.exists) counters.getHits--;
  return offload(request, 'mutation', document);
}

/** The result of heavy work with the CAS and seqno that the mutation will get. */
function withStamp({ result }: Request, heavy: HeavyAnswer, { specs }: SubdocRequest): MutationOutcome {
  const outcome = heavy.result as MutationOutcome;
  const usesStamp = specs.some(({ flags }) => (flags & PathFlag.expandMacros) !== 0);
  if (!usesStamp || !heavy.stamp || !isStored(outcome)) return outcome;
  const { checksum, datatype, value } = outcome;
  const start = (datatype & Datatype.xattr) === 0 ? 0 : bodyStart(value, 0, value.length);
  replaceStamp(value, { start, checksum }, heavy.stamp, result);
  return outcome;
}

/** Deleting the document requires the delete privilege, a counter the read privilege. */
function privilegesOf({ specs }: SubdocRequest): number {
  let needed = 0;
  for (const { opcode } of specs) {
    if (opcode === SubdocOpcode.deleteDoc) needed |= Privilege.delete;
    if (opcode === SubdocOpcode.counter) needed |= Privilege.read;
  }
  return needed;
}

/** The same check as in `Documents.store`, made before the paths are followed, so that a refused request reveals nothing about them. */
function checkLockAndCas(request: Request, decoded: SubdocRequest, document: SubdocDocument): Status {
  const { frame, view } = request;
  const hasCas = frame.casHi !== 0 || frame.casLo !== 0;
  const seesTombstones = (decoded.docFlags & DocFlag.accessDeleted) !== 0;
  if (!document.exists || (document.isDeleted && !seesTombstones))
    return hasCas ? Status.keyNotFound : Status.success;
  if (request.documents.isLockCas(frame.casHi, frame.casLo)) return Status.success;
  if (view.isLocked) return Status.locked;
  const matches = frame.casHi === view.casHi && frame.casLo === view.casLo;
  return hasCas && !matches ? Status.keyExists : Status.success;
}

function store(
  request: Request,
  decoded: SubdocRequest,
  document: SubdocDocument,
  outcome: MutationOutcome,
): CommandResult {
  const mutation = beginMutation(request, modeOf(outcome));
  setOwnValue(mutation, outcome.value);
  // The document may take over the memory of a result of heavy work. Any other result may be a view of memory with other values.
  if (!request.heavy?.result) mutation.memory = null;
  mutation.datatype = outcome.datatype & (Datatype.json | Datatype.xattr);
  mutation.flags = outcome.flags;
  mutation.expiry = decoded.expiry;
  mutation.hasRoom = true;
  // A tombstone may be written where nothing or another tombstone is, and a revived document where its tombstone is.
  mutation.countsTombstone = outcome.isDeleted
    ? !document.exists || document.isDeleted
    : isRevived(document, outcome);
  const status = request.documents.store(mutation, request.result);
  if (status === Status.success) request.counters.sets++;
  return status;
}

/** Whether a tombstone that the request saw becomes a live document. */
const isRevived = (document: SubdocDocument, outcome: MutationOutcome): boolean =>
  document.exists && document.isDeleted && !outcome.isCreated;

function modeOf(outcome: MutationOutcome): StoreMode {
  if (outcome.isDeleted) return StoreMode.remove;
  return outcome.isCreated ? StoreMode.add : StoreMode.replace;
}

/** Where the header of a reply contains the status. */
const statusOffset = 6;

/** Writes a mutation's reply with the executor's status, which differs for tombstones. */
function replyStored(request: Request, status: Status, valueBytes: number): number {
  const from = request.output.end;
  const at = replyMutation(request, request.result, valueBytes);
  request.output.buffer.writeUInt16BE(status, from + statusOffset);
  return at;
}
