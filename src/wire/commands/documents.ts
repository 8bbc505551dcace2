// Commands on one document.
import { type CommandSpec, defineCommand } from '../define-command.ts';

const reading = { session: 'bucket', privilege: { all: ['read'] }, reorderable: true } as const;
const keyOnly = { key: 'document' } as const;

const get = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({ ...reading, opcode, name, request: keyOnly, doc: 'Reads a document.', ...overrides });

export const Get = get(0x00, 'GET');
export const GetQuietly = get(0x09, 'GETQ', { quiet: 'miss' });
export const GetWithKey = get(0x0c, 'GETK');
export const GetWithKeyQuietly = get(0x0d, 'GETKQ', { quiet: 'miss' });
export const GetReplica = get(0x83, 'GET_REPLICA', { doc: 'Reads a document from a replica vbucket.' });

const getAndTouch = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    ...reading,
    opcode,
    name,
    privilege: { all: ['read', 'upsert'] },
    request: { key: 'document', extras: [4] },
    durability: true,
    doc: 'Reads a document and sets its expiry.',
    ...overrides,
  });
export const GetAndTouch = getAndTouch(0x1d, 'GAT');
export const GetAndTouchQuietly = getAndTouch(0x1e, 'GATQ', { quiet: 'miss' });

export const GetAndLock = defineCommand({
  ...reading,
  opcode: 0x94,
  name: 'GETL',
  request: { key: 'document', extras: [0, 4] },
  doc: 'Reads a document and locks it for the given seconds.',
});

export const Unlock = defineCommand({
  ...reading,
  opcode: 0x95,
  name: 'UNLOCK',
  request: { key: 'document', cas: 'required' },
  doc: 'Unlocks a document.',
});

export const GetMeta = defineCommand({
  ...reading,
  opcode: 0xa0,
  name: 'GET_META',
  request: { key: 'document', extras: [0, 1] },
  reorderable: false,
  doc: 'Metadata of a document or of its tombstone.',
});

export const GetMetaQuietly = defineCommand({ ...GetMeta, opcode: 0xa1, name: 'GETQ_META', quiet: 'miss' });

const writing = { session: 'bucket', durability: true, reorderable: true } as const;

const store = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    ...writing,
    opcode,
    name,
    privilege: { all: ['upsert'] },
    request: { key: 'document', extras: [8], value: 'optional', cas: 'optional', typedValue: true },
    preserveTtl: true,
    doc: 'Stores a document.',
    ...overrides,
  });
const adding = {
  privilege: { any: ['insert', 'upsert'] },
  request: { key: 'document', extras: [8], value: 'optional', cas: 'none', typedValue: true },
  preserveTtl: false,
  doc: 'Stores a document that must not exist yet.',
} as const;
const replacing = { doc: 'Stores a document that must exist already.' } as const;

export const SetDocument = store(0x01, 'SET');
export const SetQuietly = store(0x11, 'SETQ', { quiet: 'success' });
export const Add = store(0x02, 'ADD', adding);
export const AddQuietly = store(0x12, 'ADDQ', { ...adding, quiet: 'success' });
export const Replace = store(0x03, 'REPLACE', replacing);
export const ReplaceQuietly = store(0x13, 'REPLACEQ', { ...replacing, quiet: 'success' });

const remove = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    ...writing,
    opcode,
    name,
    privilege: { all: ['delete'] },
    request: { key: 'document', cas: 'optional' },
    doc: 'Deletes a document, leaving a tombstone.',
    ...overrides,
  });
export const Delete = remove(0x04, 'DELETE');
export const DeleteQuietly = remove(0x14, 'DELETEQ', { quiet: 'success' });

const counter = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    ...writing,
    opcode,
    name,
    privilege: { all: ['read', 'upsert'] },
    request: { key: 'document', extras: [20] },
    preserveTtl: true,
    doc: 'Adds to or subtracts from a decimal counter.',
    ...overrides,
  });
export const Increment = counter(0x05, 'INCR');
export const IncrementQuietly = counter(0x15, 'INCRQ', { quiet: 'success' });
export const Decrement = counter(0x06, 'DECR');
export const DecrementQuietly = counter(0x16, 'DECRQ', { quiet: 'success' });

const concat = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    ...writing,
    opcode,
    name,
    privilege: { all: ['upsert'] },
    request: { key: 'document', value: 'optional', cas: 'optional', typedValue: true },
    preserveTtl: true,
    doc: 'Appends or prepends bytes to a document’s value.',
    ...overrides,
  });
export const Append = concat(0x0e, 'APPEND');
export const AppendQuietly = concat(0x19, 'APPENDQ', { quiet: 'success' });
export const Prepend = concat(0x0f, 'PREPEND');
export const PrependQuietly = concat(0x1a, 'PREPENDQ', { quiet: 'success' });

export const Touch = defineCommand({
  ...writing,
  opcode: 0x1c,
  name: 'TOUCH',
  privilege: { all: ['upsert'] },
  request: { key: 'document', extras: [4] },
  doc: 'Sets the expiry of a document.',
});

const withMeta = (opcode: number, name: string, overrides: Partial<CommandSpec> = {}) =>
  defineCommand({
    session: 'bucket',
    opcode,
    name,
    privilege: { all: ['metaWrite'] },
    request: {
      key: 'document',
      extras: [24, 26, 28, 30],
      value: 'optional',
      cas: 'optional',
      typedValue: true,
    },
    doc: 'Stores a version from another cluster with its metadata, if it wins conflict resolution against the stored one.',
    ...overrides,
  });
const addingWithMeta = { doc: 'As SET_WITH_META, for a document that must not exist yet.' } as const;
const deletingWithMeta = {
  doc: 'As SET_WITH_META, for a deletion; the value may contain extended attributes.',
} as const;

export const SetWithMeta = withMeta(0xa2, 'SET_WITH_META');
export const SetWithMetaQuietly = withMeta(0xa3, 'SETQ_WITH_META', { quiet: 'success' });
export const AddWithMeta = withMeta(0xa4, 'ADD_WITH_META', addingWithMeta);
export const AddWithMetaQuietly = withMeta(0xa5, 'ADDQ_WITH_META', { ...addingWithMeta, quiet: 'success' });
export const DeleteWithMeta = withMeta(0xa8, 'DEL_WITH_META', deletingWithMeta);
export const DeleteWithMetaQuietly = withMeta(0xa9, 'DELQ_WITH_META', {
  ...deletingWithMeta,
  quiet: 'success',
});
