// Checks of a sub-document request that do not depend on the document.
import { Status } from '#wire/status.ts';
import {
  DocFlag,
  type OperationTraits,
  operationTraits,
  PathFlag,
  SubdocOpcode,
} from '#wire/subdoc-opcodes.ts';
import { isKnownMacro } from './macros.ts';
import { pathBytesMax } from './path.ts';
import type { Spec, SubdocFeatures, SubdocRequest } from './request.ts';
import { isVirtualName } from './virtual.ts';
import { isVirtual, isXattr, isXattrPathKey } from './xattr-paths.ts';

/** Checks one operation. */
export function checkSpec(spec: Spec, mutates: boolean, features: SubdocFeatures): Status {
  const traits = operationTraits(spec.opcode);
  if (traits === undefined || traits.mutates !== mutates) return Status.subdocInvalidCombo;
  if (spec.path.length > pathBytesMax) return Status.invalidArguments;
  const flags = checkFlags(spec, traits, features);
  if (flags !== Status.success) return flags;
  if (traits.wholeDoc && spec.path.length > 0) return Status.invalidArguments;
  const xattr = checkXattr(spec, mutates, features);
  if (xattr !== Status.success) return xattr;
  if (!traits.allowsEmptyPath && spec.path.length === 0) return Status.invalidArguments;
  if (traits.takesValue !== spec.value.length > 0) return Status.invalidArguments;
  return Status.success;
}

function checkFlags(spec: Spec, traits: OperationTraits, features: SubdocFeatures): Status {
  const { flags } = spec;
  if (!isXattr(spec) && (flags & (PathFlag.expandMacros | PathFlag.binary)) !== 0) {
    // A flag that the operation never allows is reported first.
    const allowed = (flags & ~traits.flags) === 0;
    return allowed ? Status.subdocXattrInvalidFlagCombo : Status.invalidArguments;
  }
  if ((flags & ~traits.flags) !== 0) return Status.invalidArguments;
  if ((flags & PathFlag.binary) !== 0) {
    if (!features.binaryXattr || (flags & PathFlag.expandMacros) !== 0) return Status.invalidArguments;
  }
  if (spec.opcode !== SubdocOpcode.replaceBodyWithXattr) return Status.success;
  if (!features.replaceBodyWithXattr) return Status.notSupported;
  return isXattr(spec) ? Status.success : Status.invalidArguments;
}

function checkXattr(spec: Spec, mutates: boolean, features: SubdocFeatures): Status {
  if (!isXattr(spec)) return Status.success;
  if (!features.xattr) return Status.notSupported;
  if (!isXattrPathKey(spec.xattrKey)) return Status.xattrInvalid;
  if (isVirtual(spec.xattrKey)) {
    if (mutates) return Status.subdocXattrCantModifyVattr;
    if (!isVirtualName(spec.xattrKey.toString())) return Status.subdocXattrUnknownVattr;
  }
  if ((spec.flags & PathFlag.expandMacros) === 0) return Status.success;
  return isKnownMacro(spec.value, features.documentMacro) ? Status.success : Status.subdocXattrUnknownMacro;
}

/** Checks the combination of the operations and the document flags. */
export function checkTogether(
  request: SubdocRequest,
  mutates: boolean,
  context: { features: SubdocFeatures; hasCas: boolean },
): Status {
  const flags = checkDocFlags(request, mutates, context);
  if (flags !== Status.success) return flags;
  const order = checkOrder(request.specs);
  if (order !== Status.success) return order;
  return context.features.multiXattrKeys ? Status.success : checkOneKey(request.specs);
}

const lookupDocFlags = DocFlag.accessDeleted | DocFlag.replicaRead;
const mutationDocFlags =
  DocFlag.mkdoc | DocFlag.add | DocFlag.accessDeleted | DocFlag.createAsDeleted | DocFlag.revive;

function checkDocFlags(
  request: SubdocRequest,
  mutates: boolean,
  context: { features: SubdocFeatures; hasCas: boolean },
): Status {
  const { docFlags } = request;
  const has = (flag: number) => (docFlags & flag) !== 0;
  const wrong =
    (docFlags & ~(mutates ? mutationDocFlags : lookupDocFlags)) !== 0 ||
    (has(DocFlag.add) && (has(DocFlag.mkdoc) || context.hasCas)) ||
    (request.hasSinglePath && has(DocFlag.createAsDeleted) && !createsXattrs(request)) ||
    (has(DocFlag.revive) && (!has(DocFlag.accessDeleted) || has(DocFlag.createAsDeleted))) ||
    (has(DocFlag.replicaRead) && (has(DocFlag.accessDeleted) || !context.features.replicaRead));
  return wrong ? Status.invalidArguments : Status.success;
}

/** A single xattr path may create a tombstone; transactions send several paths for an existing tombstone, with its CAS. */
function createsXattrs({ docFlags, specs }: SubdocRequest): boolean {
  return (docFlags & (DocFlag.add | DocFlag.mkdoc)) !== 0 && specs.every(isXattr);
}

/** Xattr operations come first; an operation that deletes the body is the only one on the body. */
function checkOrder(specs: readonly Spec[]): Status {
  let bodySpecs = 0;
  let deletes = false;
  for (const spec of specs) {
    if (isXattr(spec)) {
      if (bodySpecs > 0) return Status.subdocInvalidXattrOrder;
      continue;
    }
    bodySpecs++;
    deletes ||= spec.opcode === SubdocOpcode.deleteDoc;
  }
  return deletes && bodySpecs > 1 ? Status.subdocInvalidCombo : Status.success;
}

function checkOneKey(specs: readonly Spec[]): Status {
  let key: Buffer | null = null;
  for (const spec of specs) {
    if (!isXattr(spec) || isVirtual(spec.xattrKey)) continue;
    if (key !== null && !key.equals(spec.xattrKey)) return Status.subdocXattrInvalidKeyCombo;
    key = spec.xattrKey;
  }
  return Status.success;
}
