// What each sub-document operation is and allows: the table that the decoder and the executor go by
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

export const PathFlag = { mkdirP: 0x01, xattr: 0x04, expandMacros: 0x10, binary: 0x20 } as const;

export const DocFlag = {
  mkdoc: 0x01,
  add: 0x02,
  accessDeleted: 0x04,
  createAsDeleted: 0x08,
  revive: 0x10,
  replicaRead: 0x20,
} as const;

/** What one operation takes. */
export interface OperationTraits {
  mutates: boolean;
  /** Works on the whole body: no path, only inside a multi request. */
  wholeDoc: boolean;
  takesValue: boolean;
  emptyPath: boolean;
  /** Path flags it may carry. */
  flags: number;
}

const { mkdirP, xattr, expandMacros, binary } = PathFlag;

function lookup(flags: number, emptyPath = false): OperationTraits {
  return { mutates: false, wholeDoc: false, takesValue: false, emptyPath, flags };
}

function mutation(flags: number, emptyPath = false): OperationTraits {
  return { mutates: true, wholeDoc: false, takesValue: true, emptyPath, flags };
}

function whole(mutates: boolean, takesValue: boolean): OperationTraits {
  return { mutates, wholeDoc: true, takesValue, emptyPath: true, flags: 0 };
}

const op = SubdocOpcode;
const table = new Map<number, OperationTraits>([
  [op.getDoc, whole(false, false)],
  [op.setDoc, whole(true, true)],
  [op.deleteDoc, whole(true, false)],
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

/** The traits of an operation inside a multi request (or of a single-path request), undefined when there is none. */
export function operationTraits(opcode: number): OperationTraits | undefined {
  return table.get(opcode);
}
