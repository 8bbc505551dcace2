// Runs decoded sub-document requests (`specs.ts`) on one document (`document.ts`). Pure: the caller finds the document, checks its
// CAS and lock, inflates its value, and stores the result of a mutation in the same synchronous call. Results of lookups are views
// of the document's value; those of mutations may be views of the request's bytes.
//
// A mutation is all or nothing. Only for the statuses `success` and `subdocSuccessDeleted` the caller stores its result: `value` with
// `datatype`, `flags` and the request's expiry, as a tombstone if `isDeleted`.
import { Datatype, Status } from '#wire/status.ts';
import { DocFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { exceedsLimits, systemXattrBytes, systemXattrs, xattrBytesMax } from '../value/xattrs.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';
import { emptyBytes, type SubdocResult } from './edit.ts';
import { lookUpSpec } from './lookup.ts';
import { MutationRun } from './mutation-run.ts';
import { lookUpAll } from './operations.ts';
import { partsOf, type ValueParts } from './parts.ts';
import type { Spec, SubdocRequest } from './request.ts';
import { isXattr } from './xattr-paths.ts';

export interface LookupOutcome {
  /**
   * Multi-path: success, or multi-path failure if an operation failed; both have another code for a tombstone. Single-path: the
   * status of the operation. Any other status concerns the whole request, and `results` is then empty.
   */
  status: Status;
  /** In the order of the operations. */
  results: { status: Status; value: Buffer }[];
}

export interface MutationOutcome {
  /**
   * `success`, or `subdocSuccessDeleted` if a tombstone is written where there was no live document. For any other status nothing is
   * stored. Multi-path: `subdocMultiPathFailure` if an operation failed; single-path: the status of the operation.
   */
  status: Status;
  /** The first failed operation and its status, if `status` is `subdocMultiPathFailure`. */
  failedIndex: number;
  failedStatus: Status;
  /** Values returned by operations (only counters return one). */
  values: { index: number; value: Buffer }[];
  /** The value to store: xattr section and body. */
  value: Buffer;
  datatype: number;
  flags: number;
  /** Store a tombstone. */
  isDeleted: boolean;
  /** The request saw no document: store a new one, which replaces a tombstone. */
  isCreated: boolean;
  /** The checksum of the body, if a macro has stored it in an xattr. */
  checksum?: number;
}

/** Runs every operation of a lookup. */
export function executeLookup(
  doc: SubdocDocument,
  request: SubdocRequest,
  context: SubdocContext,
): LookupOutcome {
  if (!isVisible(doc, request)) return { status: Status.keyNotFound, results: [] };
  const parts = partsOf(doc);
  const inBody = lookUpInBody(request, parts);
  const results = request.specs.map((spec) => {
    const { status, value } = inBody?.get(spec) ?? lookUpSpec(spec, doc, parts, context);
    return { status, value: status === Status.success ? value : emptyBytes };
  });
  return { status: overallStatus(doc, request, results), results };
}

/** For large bodies, finds all paths in one pass; else null. */
function lookUpInBody({ specs }: SubdocRequest, parts: ValueParts): Map<Spec, SubdocResult> | null {
  if (parts.body.length < onePassBytesMin || !parts.bodyIsJson) return null;
  const inBody = specs.filter((spec) => !isXattr(spec) && spec.opcode !== SubdocOpcode.getDoc);
  const results = lookUpAll(parts.body, inBody);
  return new Map(inBody.map((spec, index) => [spec, results[index] as SubdocResult]));
}

const onePassBytesMin = 16 * 1024;

function overallStatus(
  doc: SubdocDocument,
  request: SubdocRequest,
  results: LookupOutcome['results'],
): Status {
  const failure = results.find((result) => result.status !== Status.success);
  if (failure === undefined) return doc.isDeleted ? Status.subdocSuccessDeleted : Status.success;
  if (request.hasSinglePath) return failure.status;
  return doc.isDeleted ? Status.subdocMultiPathFailureDeleted : Status.subdocMultiPathFailure;
}

/** Runs a mutation on a document. */
export function executeMutation(
  doc: SubdocDocument,
  request: SubdocRequest,
  context: SubdocContext,
): MutationOutcome {
  const visible = isVisible(doc, request);
  const refusal = checkDocument(doc, request, visible);
  if (refusal !== Status.success) return outcomeOf(refusal);
  const run = new MutationRun(doc, request, context, !visible);
  const failedIndex = run.execute();
  if (failedIndex < 0) return conclude(doc, request, run);
  const status = request.hasSinglePath ? run.failedStatus : Status.subdocMultiPathFailure;
  return { ...outcomeOf(status), failedIndex, failedStatus: run.failedStatus };
}

function checkDocument(doc: SubdocDocument, request: SubdocRequest, visible: boolean): Status {
  const has = (flags: number) => (request.docFlags & flags) !== 0;
  // A tombstone can be added only where there is none, not even one that the request does not see.
  if (doc.exists && doc.isDeleted && has(DocFlag.add) && has(DocFlag.createAsDeleted))
    return Status.keyExists;
  if (!visible) return has(DocFlag.add | DocFlag.mkdoc) ? Status.success : Status.keyNotFound;
  if (has(DocFlag.add)) return Status.keyExists;
  return has(DocFlag.revive) && !doc.isDeleted ? Status.subdocCanOnlyReviveDeleted : Status.success;
}

/** An outcome with this status and without a value. */
function outcomeOf(status: Status): MutationOutcome {
  return {
    status,
    failedIndex: 0,
    failedStatus: status,
    values: [],
    value: emptyBytes,
    datatype: 0,
    flags: 0,
    isDeleted: false,
    isCreated: false,
  };
}

function conclude(doc: SubdocDocument, request: SubdocRequest, run: MutationRun): MutationOutcome {
  const deletes = request.specs.some((spec) => spec.opcode === SubdocOpcode.deleteDoc);
  const isDeleted = run.isDeleted || deletes;
  if (isDeleted && run.body.length > 0) return outcomeOf(Status.subdocDeletedDocCantHaveValue);
  const section = deletes ? systemXattrs(run.section, 0, run.section.length) : run.section;
  if (isTooBig(section, run.body.length)) return outcomeOf(Status.tooBig);
  return {
    ...outcomeOf(run.isDeleted ? Status.subdocSuccessDeleted : Status.success),
    values: run.values,
    value: joined(section, run.body, doc),
    datatype: (run.bodyIsJson ? Datatype.json : 0) | (section.length > 0 ? Datatype.xattr : 0),
    flags: request.userFlags ?? (run.isCreated ? 0 : doc.flags),
    isDeleted,
    isCreated: run.isCreated,
    ...(run.checksum !== null && { checksum: run.checksum }),
  };
}

/** Checks the limits of every value: user xattrs count as part of the body, since a transaction stages a body in a user xattr. */
function isTooBig(section: Buffer, bodyBytes: number): boolean {
  const bytes = section.length + bodyBytes;
  if (bytes <= xattrBytesMax) return false;
  return exceedsLimits(bytes, systemXattrBytes(section, 0, section.length), section.length > 0);
}

function isVisible(doc: SubdocDocument, request: SubdocRequest): boolean {
  return doc.exists && (!doc.isDeleted || (request.docFlags & DocFlag.accessDeleted) !== 0);
}

/** A copy, never a view of the stored value: its memory may be moved or freed while the new value is stored. */
function joined(section: Buffer, body: Buffer, doc: SubdocDocument): Buffer {
  if (section.length === 0 && body.buffer !== doc.value.buffer) return body;
  return Buffer.concat([section, body]);
}
