// Runs decoded sub-document requests (`specs.ts`) against one document (`document.ts`). Pure: the caller finds the
// document, checks its CAS and lock, inflates its value, and stores what a mutation gave in the same synchronous
// stretch. What a lookup gives are views of the document's value; a mutation's may be views of the request's bytes.
//
// A mutation is all or nothing. Store only for status 00 and cd: `value` with `datatype` and `flags`, the request's
// expiry, as a tombstone when `deleted`.
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { bodyBytesLimit, systemXattrs, xattrBytesLimit } from '../value/xattrs.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';
import { type Edit, emptyBytes } from './edit.ts';
import { lookUpSpec } from './lookup.ts';
import { MutationRun } from './mutation-run.ts';
import { lookUpAll } from './operations.ts';
import { partsOf, type ValueParts } from './parts.ts';
import type { Spec, SubdocRequest } from './request.ts';
import { isSystem, isXattr } from './xattr-paths.ts';

export interface LookupOutcome {
  /**
   * Multi: success, or multi-path failure when an operation failed; both have another code on a tombstone. Single:
   * the operation's own status. Any other status is about the whole request, and `results` is then empty.
   */
  status: Status;
  /** In the order of the operations. */
  results: { status: Status; value: Buffer }[];
}

export interface MutationOutcome {
  /**
   * 00, or cd when a tombstone was or is written in place of no live document. Anything else: store nothing. Multi:
   * cc when an operation failed; single: that operation's own status.
   */
  status: Status;
  /** The first operation that failed, and its status, when `status` is cc. */
  failedIndex: number;
  failedStatus: Status;
  /** What operations returned (only counters do). */
  values: { index: number; value: Buffer }[];
  /** What to store: xattr section and body. */
  value: Buffer;
  datatype: number;
  flags: number;
  /** What to store is a tombstone. */
  deleted: boolean;
  /** The request saw no document: what is stored is new, and replaces a tombstone that may be there. */
  created: boolean;
}

/** Runs every operation of a lookup. */
export function executeLookup(
  doc: SubdocDocument,
  request: SubdocRequest,
  context: SubdocContext,
): LookupOutcome {
  if (!isVisible(doc, request)) return { status: Status.keyNotFound, results: [] };
  if (!context.mayReadSystemXattrs && request.specs.some((spec) => isSystem(spec.xattrKey))) {
    return { status: Status.noAccess, results: [] };
  }
  const parts = partsOf(doc);
  const inBody = lookUpInBody(request, parts);
  const results = request.specs.map((spec) => {
    const { status, value } = inBody?.get(spec) ?? lookUpSpec(spec, doc, parts, context);
    return { status, value: status === Status.success ? value : emptyBytes };
  });
  return { status: overallStatus(doc, request, results), results };
}

/** One pass for all paths, or for a value and its entries, pays where the body is large; else null. */
function lookUpInBody({ specs }: SubdocRequest, parts: ValueParts): Map<Spec, Edit> | null {
  if (parts.body.length < onePassFrom || !parts.bodyIsJson) return null;
  const inBody = specs.filter((spec) => !isXattr(spec) && spec.opcode !== SubdocOpcode.getDoc);
  const edits = lookUpAll(parts.body, inBody);
  return new Map(inBody.map((spec, index) => [spec, edits[index] as Edit]));
}

const onePassFrom = 16 * 1024;

function overallStatus(
  doc: SubdocDocument,
  request: SubdocRequest,
  results: LookupOutcome['results'],
): Status {
  const failure = results.find((result) => result.status !== Status.success);
  if (failure === undefined) return doc.deleted ? Status.subdocSuccessDeleted : Status.success;
  if (request.single) return failure.status;
  return doc.deleted ? Status.subdocMultiPathFailureDeleted : Status.subdocMultiPathFailure;
}

/** Runs a mutation against a document. */
export function executeMutation(
  doc: SubdocDocument,
  request: SubdocRequest,
  context: SubdocContext,
): MutationOutcome {
  const visible = isVisible(doc, request);
  const refusal = checkDocument(doc, request, visible);
  if (refusal !== Status.success) return refused(refusal);
  if (!hasPrivileges(request, context)) return refused(Status.noAccess);
  const run = new MutationRun(doc, request, context, !visible);
  const failedIndex = run.execute();
  if (failedIndex < 0) return conclude(doc, request, run);
  const status = request.single ? run.failedStatus : Status.subdocMultiPathFailure;
  return { ...refused(status), failedIndex, failedStatus: run.failedStatus };
}

function checkDocument(doc: SubdocDocument, request: SubdocRequest, visible: boolean): Status {
  const has = (flags: number) => (request.docFlags & flags) !== 0;
  if (!visible) return has(DocFlag.add | DocFlag.mkdoc) ? Status.success : Status.keyNotFound;
  if (has(DocFlag.add)) return Status.keyExists;
  return has(DocFlag.revive) && !doc.deleted ? Status.subdocCanOnlyReviveDeleted : Status.success;
}

function hasPrivileges(request: SubdocRequest, context: SubdocContext): boolean {
  return request.specs.every((spec) => {
    if (!isSystem(spec.xattrKey)) return true;
    const reads = spec.opcode === SubdocOpcode.replaceBodyWithXattr;
    return reads ? context.mayReadSystemXattrs : context.mayWriteSystemXattrs;
  });
}

function refused(status: Status): MutationOutcome {
  return {
    status,
    failedIndex: 0,
    failedStatus: status,
    values: [],
    value: emptyBytes,
    datatype: 0,
    flags: 0,
    deleted: false,
    created: false,
  };
}

function conclude(doc: SubdocDocument, request: SubdocRequest, run: MutationRun): MutationOutcome {
  const deletes = request.specs.some((spec) => spec.opcode === SubdocOpcode.deleteDoc);
  const deleted = run.deleted || deletes;
  if (deleted && run.body.length > 0) return refused(Status.subdocDeletedDocCantHaveValue);
  const section = deletes ? systemXattrs(run.section, 0, run.section.length) : run.section;
  if (section.length > xattrBytesLimit || run.body.length > bodyBytesLimit) return refused(Status.tooBig);
  return {
    ...refused(run.deleted ? Status.subdocSuccessDeleted : Status.success),
    values: run.values,
    value: joined(section, run.body, doc),
    datatype: (run.bodyIsJson ? Datatype.json : 0) | (section.length > 0 ? Datatype.xattr : 0),
    flags: request.userFlags ?? (run.created ? 0 : doc.flags),
    deleted,
    created: run.created,
  };
}

function isVisible(doc: SubdocDocument, request: SubdocRequest): boolean {
  return doc.exists && (!doc.deleted || (request.docFlags & DocFlag.accessDeleted) !== 0);
}

/** Never a view of the stored value: its memory may move or be freed while the new one is stored. */
function joined(section: Buffer, body: Buffer, doc: SubdocDocument): Buffer {
  if (section.length === 0 && body.buffer !== doc.value.buffer) return body;
  return Buffer.concat([section, body]);
}
