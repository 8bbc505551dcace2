// Opcodes, flags and traits of the sub-document operations: the table that the request decoder and the executor use
// (public document: kv_engine docs/BinaryProtocol.md, "Sub-document").

export const SubdocOpcode = {
  getDoc: 0x00,
  setDoc: 0x01,
  deleteDoc: 0x04,
  get: 0xc5,
  exists: 0xc6,
  dictAdd: 0xc7,
  dictUpsert: 0xc8,
  delete: 0xc9,
  replace: 0xca,
  pushLast: 0xcb,
  pushFirst: 0xcc,
  arrayInsert: 0xcd,
  addUnique: 0xce,
  counter: 0xcf,
  multiLookup: 0xd0,
  multiMutation: 0xd1,
  getCount: 0xd2,
  replaceBodyWithXattr: 0xd3,
} as const;

export const PathFlag = {
  /** Missing objects of the path are created. */
  mkdirP: 0x01,
  /** The path leads into an extended attribute, which its first component names. */
  xattr: 0x04,
  /** The value is a macro, such as `"${Mutation.CAS}"`. */
  expandMacros: 0x10,
  /** The value of the attribute is bytes and not JSON. */
  binary: 0x20,
} as const;

export const DocFlag = {
  /** A missing document is created. */
  mkdoc: 0x01,
  /** The document must not exist. */
  add: 0x02,
  /** A tombstone counts as a document. */
  accessDeleted: 0x04,
  /** With `mkdoc` or `add`: a tombstone is created. */
  createAsDeleted: 0x08,
  /** A tombstone becomes a document again. */
  revive: 0x10,
  /** A replica vbucket answers the lookup. */
  replicaRead: 0x20,
} as const;

/** What a request with this operation may contain. */
export interface OperationTraits {
  mutates: boolean;
  /** Acts on the whole body: has no path, and is allowed only in a multi-path request. */
  wholeDoc: boolean;
  takesValue: boolean;
  /** Allows an empty path, which names the whole document. */
  allowsEmptyPath: boolean;
  /** Allowed path flags. */
  flags: number;
}

const { mkdirP, xattr, expandMacros, binary } = PathFlag;

function lookup(flags: number, allowsEmptyPath = false): OperationTraits {
  return { mutates: false, wholeDoc: false, takesValue: false, allowsEmptyPath, flags };
}

function mutation(flags: number, allowsEmptyPath = false): OperationTraits {
  return { mutates: true, wholeDoc: false, takesValue: true, allowsEmptyPath, flags };
}

function wholeDocument(mutates: boolean, takesValue: boolean): OperationTraits {
  return { mutates, wholeDoc: true, takesValue, allowsEmptyPath: true, flags: 0 };
}

const op = SubdocOpcode;
const table = new Map<number, OperationTraits>([
  [op.getDoc, wholeDocument(false, false)],
  [op.setDoc, wholeDocument(true, true)],
  [op.deleteDoc, wholeDocument(true, false)],
  [op.get, lookup(xattr | binary)],
  [op.exists, lookup(xattr)],
  [op.getCount, lookup(xattr, true)],
  [op.dictAdd, mutation(mkdirP | xattr | expandMacros | binary)],
  [op.dictUpsert, mutation(mkdirP | xattr | expandMacros | binary)],
  [op.delete, { ...mutation(xattr), takesValue: false }],
  [op.replace, mutation(xattr | expandMacros | binary)],
  [op.pushLast, mutation(mkdirP | xattr | expandMacros, true)],
  [op.pushFirst, mutation(mkdirP | xattr | expandMacros, true)],
  [op.arrayInsert, mutation(xattr | expandMacros)],
  [op.addUnique, mutation(mkdirP | xattr, true)],
  [op.counter, mutation(mkdirP | xattr)],
  [op.replaceBodyWithXattr, { ...mutation(xattr | binary), takesValue: false }],
]);

/** The traits of an operation of a single-path or multi-path request, undefined for an unknown opcode. */
export function operationTraits(opcode: number): OperationTraits | undefined {
  return table.get(opcode);
}
