// The state of one mutation: the parts of the document's value, which its operations change one after the other.
import { Status } from '#wire/status.ts';
import { DocFlag, operationTraits, PathFlag, SubdocOpcode } from '#wire/subdoc-opcodes.ts';
import { getXattr } from '#wire/xattr-section.ts';
import { crc32c } from '../value/crc32c.ts';
import { isJson } from '../value/json.ts';
import { removeXattr, setXattr } from '../value/xattrs.ts';
import { decodeBinary, encodeBinary } from './binary.ts';
import { type SubdocContext, type SubdocDocument, unseenDocument } from './document.ts';
import { emptyBytes, type SubdocResult } from './edit.ts';
import { expandMacro, isChecksumMacro } from './macros.ts';
import { lookUp, mutate } from './operations.ts';
import { partsOf, type ValueParts } from './parts.ts';
import type { Spec, SubdocRequest } from './request.ts';
import { isSystem, isXattr, unwrapXattr, wrapXattr } from './xattr-paths.ts';

export class MutationRun {
  section: Buffer;
  body: Buffer;
  bodyIsJson: boolean;
  /** The result is a tombstone, even if no operation deletes the document. */
  readonly isDeleted: boolean;
  readonly isCreated: boolean;
  readonly values: { index: number; value: Buffer }[] = [];
  failedStatus: Status = Status.success;
  /** The checksum of the body, if a macro has stored it. */
  checksum: number | null = null;
  private readonly doc: SubdocDocument;
  private readonly request: SubdocRequest;
  private readonly context: SubdocContext;
  private readonly stored: ValueParts;
  private readonly mkdirP: boolean;

  constructor(doc: SubdocDocument, request: SubdocRequest, context: SubdocContext, created: boolean) {
    this.doc = created ? unseenDocument : doc;
    this.request = request;
    this.context = context;
    this.isCreated = created;
    this.stored = created ? { section: emptyBytes, body: emptyBytes, bodyIsJson: false } : partsOf(doc);
    this.mkdirP = this.hasDocFlag(DocFlag.add | DocFlag.mkdoc);
    this.isDeleted = created
      ? this.hasDocFlag(DocFlag.createAsDeleted)
      : doc.isDeleted && !this.hasDocFlag(DocFlag.revive);
    const root = this.newRoot();
    this.section = this.stored.section;
    this.body = root ?? this.stored.body;
    this.bodyIsJson = root !== null || this.stored.bodyIsJson;
  }

  /** Runs all operations; returns the index of the first that failed, or -1. */
  execute(): number {
    for (const [index, spec] of this.request.specs.entries()) {
      this.failedStatus = isXattr(spec) ? this.runXattr(spec, index, 0) : this.runBody(spec, index);
      if (this.failedStatus !== Status.success) return index;
    }
    if (this.request.specs.some(expandsChecksum)) this.writeChecksum();
    return -1;
  }

  /**
   * The checksum of the new body is known only after all operations, so the operations on xattrs are run again from the start. The
   * text of the checksum has the same length as the placeholder of the first run, so nothing else changes.
   */
  private writeChecksum(): void {
    const checksum = crc32c(this.body, 0, this.body.length);
    this.checksum = checksum;
    this.section = this.stored.section;
    for (const spec of this.request.specs) {
      if (isXattr(spec) && spec.opcode !== SubdocOpcode.replaceBodyWithXattr) {
        this.runXattr(spec, -1, checksum);
      }
    }
  }

  private hasDocFlag(flags: number): boolean {
    return (this.request.docFlags & flags) !== 0;
  }

  /**
   * The initial body of a document without one: an object or an array, as the first path into the body requires; null: none. Only a new
   * document that is not a tombstone gets one although no path leads into it.
   */
  private newRoot(): Buffer | null {
    const first = this.request.specs.find(
      (spec) => !isXattr(spec) && !operationTraits(spec.opcode)?.wholeDoc,
    );
    if (this.isCreated ? this.isDeleted && first === undefined : !this.lacksBody() || first === undefined)
      return null;
    const array = first !== undefined && (first.path.length === 0 || first.path[0] === 0x5b);
    return Buffer.from(array ? '[]' : '{}');
  }

  private lacksBody(): boolean {
    if (!this.doc.isDeleted || this.stored.body.length > 0) return false;
    return this.hasDocFlag(DocFlag.mkdoc | DocFlag.revive);
  }

  private runBody(spec: Spec, index: number): Status {
    if (spec.opcode === SubdocOpcode.setDoc) this.setBody(spec.value);
    else if (spec.opcode === SubdocOpcode.deleteDoc) {
      this.body = emptyBytes;
      this.bodyIsJson = false;
    } else {
      if (!this.bodyIsJson) return Status.subdocDocNotJson;
      const edit = this.mutate(spec, index, this.body, spec.value);
      if (edit.status !== Status.success) return edit.status;
      this.body = edit.text;
    }
    return Status.success;
  }

  private setBody(body: Buffer): void {
    this.body = body;
    this.bodyIsJson = isJson(body, 0, body.length);
  }

  /** `index`: position of the operation in the request; -1 in the second run, whose values are not returned. */
  private runXattr(spec: Spec, index: number, checksum: number): Status {
    const key = spec.xattrKey;
    if (isSystem(key) && !this.mayAccessSystem(spec)) return Status.noAccess;
    const text = wrapXattr(key, getXattr(this.section, key));
    if (spec.opcode === SubdocOpcode.replaceBodyWithXattr) return this.replaceBody(spec, text);
    const value = this.xattrValue(spec, checksum);
    if (value === null) return Status.subdocXattrUnknownVattrMacro;
    const edit = this.mutate(spec, index, text, value);
    if (edit.status !== Status.success) return edit.status;
    const changed = unwrapXattr(key, edit.text);
    this.section = changed === null ? removeXattr(this.section, key) : setXattr(this.section, key, changed);
    return Status.success;
  }

  private mayAccessSystem({ opcode }: Spec): boolean {
    const { mayReadSystemXattrs, mayWriteSystemXattrs } = this.context;
    return opcode === SubdocOpcode.replaceBodyWithXattr ? mayReadSystemXattrs : mayWriteSystemXattrs;
  }

  private mutate(spec: Spec, index: number, text: Buffer, value: Buffer): SubdocResult {
    const mkdirP = this.mkdirP || (spec.flags & PathFlag.mkdirP) !== 0;
    const edit = mutate(spec.opcode, mkdirP, text, spec.path, value);
    const returns = edit.status === Status.success && edit.value.length > 0 && index >= 0;
    if (returns) this.values.push({ index, value: edit.value });
    return edit;
  }

  private xattrValue(spec: Spec, checksum: number): Buffer | null {
    if (spec.flags & PathFlag.binary) return encodeBinary(spec.value);
    if ((spec.flags & PathFlag.expandMacros) === 0) return spec.value;
    return expandMacro(spec.value, checksum, this.doc, this.stored.body, this.context);
  }

  private replaceBody(spec: Spec, text: Buffer): Status {
    const found = lookUp(SubdocOpcode.get, text, spec.path);
    if (found.status !== Status.success) return found.status;
    if ((spec.flags & PathFlag.binary) === 0) this.setBody(found.value);
    else {
      const bytes = decodeBinary(found.value);
      if (bytes === null) return Status.subdocNotBinaryValue;
      this.setBody(bytes);
    }
    return Status.success;
  }
}

function expandsChecksum(spec: Spec): boolean {
  return (spec.flags & PathFlag.expandMacros) !== 0 && isChecksumMacro(spec.value);
}
