// Commands on parts of a document.
import { defineCommand } from '../define-command.ts';
import { frameBytesMax } from '../frame.ts';

const lookupExtras = [3, 4] as const;
const mutationExtras = [3, 4, 7, 8, 11, 12] as const;

const lookup = (opcode: number, name: string, doc: string) =>
  defineCommand({
    opcode,
    name,
    session: 'bucket',
    privilege: { all: ['read'] },
    reorderable: true,
    request: { key: 'document', extras: lookupExtras, value: 'optional', valueBytesMax: frameBytesMax },
    doc,
  });

const mutation = (opcode: number, name: string, doc: string, reads = false) =>
  defineCommand({
    opcode,
    name,
    session: 'bucket',
    privilege: { all: reads ? ['read', 'upsert'] : ['upsert'] },
    reorderable: true,
    durability: true,
    preserveTtl: true,
    request: {
      key: 'document',
      extras: mutationExtras,
      value: 'optional',
      valueBytesMax: frameBytesMax,
      cas: 'optional',
    },
    doc,
  });

export const SubdocGet = lookup(0xc5, 'SUBDOC_GET', 'Reads a path.');
export const SubdocExists = lookup(0xc6, 'SUBDOC_EXISTS', 'Reports whether a path exists.');
export const SubdocGetCount = lookup(0xd2, 'SUBDOC_GET_COUNT', 'Counts the members of an object or array.');

export const SubdocDictAdd = mutation(0xc7, 'SUBDOC_DICT_ADD', 'Adds a member that must not exist yet.');
export const SubdocDictUpsert = mutation(0xc8, 'SUBDOC_DICT_UPSERT', 'Sets a member.');
export const SubdocDelete = mutation(0xc9, 'SUBDOC_DELETE', 'Removes a path.');
export const SubdocReplace = mutation(0xca, 'SUBDOC_REPLACE', 'Replaces the value at a path.');
export const SubdocPushLast = mutation(0xcb, 'SUBDOC_ARRAY_PUSH_LAST', 'Appends to an array.');
export const SubdocPushFirst = mutation(0xcc, 'SUBDOC_ARRAY_PUSH_FIRST', 'Prepends to an array.');
export const SubdocArrayInsert = mutation(0xcd, 'SUBDOC_ARRAY_INSERT', 'Inserts into an array.');
export const SubdocAddUnique = mutation(
  0xce,
  'SUBDOC_ARRAY_ADD_UNIQUE',
  'Adds a value to an array that does not contain it yet.',
);
export const SubdocCounter = mutation(0xcf, 'SUBDOC_COUNTER', 'Adds to a number.', true);
export const SubdocReplaceBody = mutation(
  0xd3,
  'SUBDOC_REPLACE_BODY_WITH_XATTR',
  'Replaces the body by the value of an attribute.',
);

export const SubdocMultiLookup = defineCommand({
  opcode: 0xd0,
  name: 'SUBDOC_MULTI_LOOKUP',
  session: 'bucket',
  privilege: { all: ['read'] },
  reorderable: true,
  request: { key: 'document', extras: [0, 1], value: 'optional', valueBytesMax: frameBytesMax },
  doc: 'Reads up to 16 paths.',
});

export const SubdocMultiMutation = defineCommand({
  opcode: 0xd1,
  name: 'SUBDOC_MULTI_MUTATION',
  session: 'bucket',
  privilege: { all: ['upsert'] },
  reorderable: true,
  durability: true,
  preserveTtl: true,
  request: {
    key: 'document',
    extras: [0, 1, 4, 5, 8, 9],
    value: 'optional',
    valueBytesMax: frameBytesMax,
    cas: 'optional',
  },
  doc: 'Changes up to 16 paths atomically.',
});
