// Runs one lookup operation on a document.
import { Status } from '#wire/status.ts';
import { PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { getXattr } from '#wire/xattr-section.ts';
import { decodeBinary } from './binary.ts';
import type { SubdocContext, SubdocDocument } from './document.ts';
import { answered, failed, type SubdocResult } from './edit.ts';
import { lookUp } from './operations.ts';
import type { ValueParts } from './parts.ts';
import type { Spec } from './request.ts';
import { virtualXattr } from './virtual.ts';
import { isSystem, isVirtual, isXattr, wrapXattr } from './xattr-paths.ts';

/** Returns status and value of one operation. */
export function lookUpSpec(
  spec: Spec,
  doc: SubdocDocument,
  parts: ValueParts,
  context: SubdocContext,
): SubdocResult {
  if (isXattr(spec)) return lookUpXattr(spec, doc, parts, context);
  if (spec.opcode === SubdocOpcode.getDoc) {
    return doc.isDeleted && parts.body.length === 0
      ? failed(Status.subdocPathNotFound)
      : answered(parts.body);
  }
  if (!parts.bodyIsJson) return failed(Status.subdocDocNotJson);
  return lookUp(spec.opcode, parts.body, spec.path);
}

function lookUpXattr(
  spec: Spec,
  doc: SubdocDocument,
  parts: ValueParts,
  context: SubdocContext,
): SubdocResult {
  const key = spec.xattrKey;
  if (isSystem(key) && !context.mayReadSystemXattrs) return failed(Status.noAccess);
  const value = isVirtual(key)
    ? virtualXattr(key.toString(), doc, parts.section, parts.body, context)
    : getXattr(parts.section, key);
  const found = lookUp(spec.opcode, wrapXattr(key, value), spec.path);
  if (found.status !== Status.success || (spec.flags & PathFlag.binary) === 0) return found;
  const bytes = decodeBinary(found.value);
  return bytes === null ? failed(Status.subdocNotBinaryValue) : answered(bytes);
}
