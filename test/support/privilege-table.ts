// The published privileges that each command of the data port requires, and those that roles grant.
import type { RequestParts } from '#wire/output.ts';
import { Opcode } from './opcodes.ts';

export type PrivilegeWord =
  | 'read'
  | 'insert'
  | 'upsert'
  | 'delete'
  | 'rangeScan'
  | 'metaWrite'
  | 'systemXattrRead'
  | 'systemXattrWrite'
  | 'systemCollectionLookup'
  | 'systemCollectionMutation'
  | 'dcpProducer'
  | 'dcpConsumer'
  | 'dcpStream'
  | 'simpleStats';

export const places = ['orders', 'carts', 'system', 'default'] as const;
export type Place = (typeof places)[number];
export type Held = Record<Place | 'bucket', readonly PrivilegeWord[]>;
export interface Need {
  all?: readonly PrivilegeWord[];
  any?: readonly PrivilegeWord[];
}

export interface Row {
  name: string;
  need: Need;
  /**
   * Where the privileges must be held. `key`: in the collection of the document; `named`: in the collection that the request states
   * without a document; `bucket`: in the whole bucket; `anywhere`: in any part of the bucket.
   */
  where: 'key' | 'named' | 'bucket' | 'anywhere';
  request(collection: number, scope: string): RequestParts;
}

const none = Buffer.alloc(0);
const bytes = (text: string): Buffer => Buffer.from(text);
const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const keyIn = (collection: number, name = 'k'): Buffer =>
  Buffer.concat([Buffer.from([collection]), bytes(name)]);
const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const u32 = (value: number): Buffer => Buffer.concat([u16(value >>> 16), u16(value & 0xffff)]);

interface Parts {
  extras?: Buffer;
  value?: Buffer;
  casLo?: number;
  datatype?: number;
}
/** `name`: a document of its own, for commands after which later commands cannot use it. */
interface NamedParts extends Parts {
  name?: string;
}

function onKey(opcode: number, name: string, need: Need, { name: key, ...parts }: NamedParts = {}): Row {
  return {
    name: `${opcode.toString(16).padStart(2, '0')} ${name}`,
    need,
    where: 'key',
    request: (collection) => ({ opcode, key: keyIn(collection, key), ...parts }),
  };
}

const withOpcodes = (opcodes: readonly number[], name: string, need: Need, parts: NamedParts = {}): Row[] =>
  opcodes.map((opcode) => onKey(opcode, name, need, parts));

const read: Need = { all: ['read'] };
const upsert: Need = { all: ['upsert'] };
const readAndUpsert: Need = { all: ['read', 'upsert'] };

/** The extras are the length of the path (u16) and flags (u8); path and value follow. */
function onPath(opcode: number, name: string, need: Need, path: string, value = '', flags = 0): Row {
  const extras = Buffer.concat([u16(path.length), Buffer.from([flags])]);
  return onKey(opcode, name, need, { extras, value: bytes(path + value) });
}

const lookupSpec = (opcode: number, path: string, flags = 0): Buffer =>
  Buffer.concat([Buffer.from([opcode, flags]), u16(path.length), bytes(path)]);
const mutationSpec = (opcode: number, path: string, value = '', flags = 0): Buffer =>
  Buffer.concat([
    Buffer.from([opcode, flags]),
    u16(path.length),
    u32(value.length),
    bytes(path),
    bytes(value),
  ]);

const documentBytes = { extras: hex('0000000000000000'), value: bytes('{"n":1}') };
const systemXattrs = Buffer.concat([u32(12), u32(8), bytes('_sys\0{}\0'), bytes('{}')]);
const withMeta = hex('00000000000000000000000000000001000000000000ffff');

const onDocuments: Row[] = [
  ...withOpcodes([0x00, 0x09, 0x0c, 0x0d, 0x83, 0xa0, 0xa1], 'reads', read),
  onKey(0x94, 'locks', read, { name: 'locked' }),
  onKey(0x95, 'unlocks', read, { casLo: 77, name: 'locked' }),
  onPath(0xc5, 'gets a path', read, 'n'),
  onPath(0xc6, 'tests for a path', read, 'n'),
  onPath(0xd2, 'counts elements', read, ''),
  onKey(0xd0, 'gets paths', read, { value: lookupSpec(0xc5, 'n') }),
  onKey(0xb8, 'lists keys', read),
  ...withOpcodes([0x01, 0x11, 0x03, 0x13], 'stores', upsert, documentBytes),
  ...withOpcodes([0x02, 0x12], 'adds', { any: ['insert', 'upsert'] }, documentBytes),
  ...withOpcodes([0x04, 0x14], 'deletes', { all: ['delete'] }, { name: 'deleted' }),
  ...withOpcodes([0x05, 0x15, 0x06, 0x16], 'increments or decrements', readAndUpsert, {
    extras: Buffer.alloc(20),
  }),
  ...withOpcodes([0x0e, 0x19, 0x0f, 0x1a], 'appends or prepends', upsert, {
    value: bytes('x'),
    name: 'text',
  }),
  onKey(0x1c, 'touches', upsert, { extras: u32(0) }),
  ...withOpcodes([0x1d, 0x1e], 'reads and touches', readAndUpsert, { extras: u32(0) }),
  ...withOpcodes(
    [0xa2, 0xa3, 0xa4, 0xa5],
    'stores with metadata',
    { all: ['metaWrite'] },
    {
      extras: withMeta,
      value: bytes('{}'),
    },
  ),
  ...withOpcodes(
    [0xa8, 0xa9],
    'deletes with metadata',
    { all: ['metaWrite'] },
    { extras: withMeta, name: 'deleted' },
  ),
  ...[0xc7, 0xc8, 0xca].map((opcode) => onPath(opcode, 'sets a path', upsert, 'm', '1')),
  onPath(0xc9, 'removes a path', upsert, 'zz'),
  ...[0xcb, 0xcc, 0xce].map((opcode) => onPath(opcode, 'adds to an array', upsert, 'a', '1')),
  onPath(0xcd, 'inserts into an array', upsert, 'a[0]', '1'),
  onPath(0xcf, 'adds to the number in a path', readAndUpsert, 'c', '1'),
  onPath(0xd3, 'makes an attribute the body', upsert, 'x', '', 0x04),
  onKey(0xd1, 'sets paths', upsert, { value: mutationSpec(0xc8, 'm', '1') }),
  onKey(0xd1, 'adds to numbers in paths', readAndUpsert, { value: mutationSpec(0xcf, 'c', '1') }),
  onKey(
    0xd1,
    'deletes by paths',
    { all: ['upsert', 'delete'] },
    { value: mutationSpec(0x04, ''), name: 'deleted' },
  ),
  onPath(0xc6, 'reads a system attribute', { all: ['read', 'systemXattrRead'] }, '_sys', '', 0x04),
  onPath(0xc8, 'writes a system attribute', { all: ['upsert', 'systemXattrWrite'] }, '_sys', '1', 0x04),
  onKey(
    0x01,
    'stores system attributes',
    { all: ['upsert', 'systemXattrWrite'] },
    {
      extras: documentBytes.extras,
      value: systemXattrs,
      datatype: 0x04,
    },
  ),
];

const rowNamingCollection = (
  opcode: number,
  name: string,
  need: Need,
  parts: (collection: number, scope: string) => Omit<RequestParts, 'opcode'>,
): Row => ({
  name: `${opcode.toString(16)} ${name}`,
  need,
  where: 'named',
  request: (collection, scope) => ({ opcode, ...parts(collection, scope) }),
});

const scanOf = (collection: number) => ({
  datatype: 0x01,
  value: bytes(JSON.stringify({ collection: collection.toString(16), range: { start: '', end: '/w==' } })),
});
const stat = (name: string): Omit<RequestParts, 'opcode'> => ({ key: bytes(name) });
const figures: Need = { all: ['simpleStats'] };

const onNamedCollections: Row[] = [
  rowNamingCollection(0x92, 'observes', read, (collection) => ({
    value: Buffer.concat([u16(0), u16(2), keyIn(collection)]),
  })),
  rowNamingCollection(0xb6, 'reads any document', read, (collection) => ({ extras: u32(collection) })),
  rowNamingCollection(0xda, 'scans', { all: ['rangeScan'] }, scanOf),
  rowNamingCollection(0x48, 'reads seqnos of a collection', read, (collection) => ({
    extras: Buffer.concat([u32(0), u32(collection)]),
  })),
  rowNamingCollection(0x10, 'reads metadata', read, (collection) =>
    stat(`key-byid k 0 0x${collection.toString(16)}`),
  ),
  rowNamingCollection(0x10, 'counts documents', figures, (collection) =>
    stat(`collections-byid ${collection.toString(16)}`),
  ),
];

const rowOfBucket = (
  where: 'bucket' | 'anywhere',
  opcode: number,
  name: string,
  need: Need,
  parts: Omit<RequestParts, 'opcode'> = {},
): Row => ({ name: `${opcode.toString(16)} ${name}`, need, where, request: () => ({ opcode, ...parts }) });

const groups = [
  '',
  'info',
  'uuid',
  'config',
  'memory',
  'diskinfo',
  'warmup',
  'tasks',
  'timings',
  'vbucket',
  'prev-vbucket',
  'vbucket-seqno',
  'vbucket-details',
  'failovers',
  'checkpoint',
  'dcp',
  'dcpagg',
  'dcp-vbtakeover 0 x',
  'range-scans',
];

const onTheBucket: Row[] = [
  rowOfBucket('bucket', 0x96, 'reads a failover log', read),
  ...groups.map((group) => rowOfBucket('bucket', 0x10, `reads figures of ${group}`, figures, stat(group))),
  rowOfBucket('anywhere', 0x48, 'reads all seqnos', read),
  rowOfBucket('anywhere', 0x91, 'observes a vbucket', read, { value: Buffer.alloc(8) }),
  rowOfBucket('anywhere', 0xb7, 'waits for a seqno', read, { extras: Buffer.alloc(8) }),
  rowOfBucket('anywhere', 0xdb, 'continues a scan', { all: ['rangeScan'] }, { extras: Buffer.alloc(28) }),
  rowOfBucket('anywhere', 0xdc, 'ends a scan', { all: ['rangeScan'] }, { extras: Buffer.alloc(16) }),
  rowOfBucket('anywhere', 0x54, 'reads a failover log of streams', { any: ['dcpProducer', 'dcpStream'] }),
  rowOfBucket('anywhere', 0x52, 'closes a stream', { any: ['dcpProducer', 'dcpStream'] }),
  rowOfBucket('anywhere', 0x10, 'reads the manifest’s uid', figures, stat('manifest')),
];

/** Commands that require no privilege answer for visible collections only. */
const onVisibleCollections: Row[] = [
  { ...onKey(0xbb, 'asks for the id of a collection', {}), where: 'key', request: idRequest },
];

function idRequest(collection: number): RequestParts {
  const paths: Record<number, string> = {
    0: '_default._default',
    8: 'shop.orders',
    9: 'shop.carts',
    10: '_system._mobile',
  };
  return { opcode: Opcode.getCollectionId, value: bytes(paths[collection] ?? '') };
}

export const rows: readonly Row[] = [
  ...onDocuments,
  ...onNamedCollections,
  ...onTheBucket,
  ...onVisibleCollections,
];

const streamOf = (value?: object): Omit<RequestParts, 'opcode'> => {
  const extras = Buffer.alloc(48);
  extras.fill(0xff, 16, 24);
  return { extras, value: value ? bytes(JSON.stringify(value)) : none };
};
const changes: Need = { all: ['dcpStream'] };

/** For a separate connection, which the first row opens for streams. */
export const streamRows: readonly Row[] = [
  rowOfBucket(
    'bucket',
    0x50,
    'opens',
    { all: ['dcpProducer'] },
    { extras: hex('0000000000000005'), key: bytes('s') },
  ),
  rowNamingCollection(0x53, 'streams a collection', changes, (collection) => ({
    ...streamOf({ collections: [collection.toString(16)] }),
    vb: collection,
  })),
  rowOfBucket('bucket', 0x53, 'streams the bucket', changes, { ...streamOf(), vb: 20 }),
];

/** Commands for every client, for administrators of the node only, or about the session. */
export const uncheckedOpcodes: ReadonlySet<number> = new Set([
  Opcode.hello,
  Opcode.saslListMechanisms,
  Opcode.saslAuth,
  Opcode.saslStep,
  Opcode.selectBucket,
  Opcode.getClusterConfig,
  Opcode.getErrorMap,
  Opcode.noop,
  Opcode.version,
  Opcode.quit,
  Opcode.quitQuietly,
  Opcode.verbosity,
  Opcode.listBuckets,
  Opcode.getManifest,
  Opcode.getScopeId,
  Opcode.getVbucket,
  Opcode.evictKey,
  // Messages on an open connection of streams.
  Opcode.dcpNoop,
  Opcode.dcpBufferAck,
  Opcode.dcpControl,
]);

const reader: readonly PrivilegeWord[] = ['read', 'rangeScan', 'systemCollectionLookup'];
const writer: readonly PrivilegeWord[] = ['insert', 'upsert', 'delete'];
/** What `data_dcp_reader` holds in the whole bucket, whatever its collections. */
const follows: readonly PrivilegeWord[] = ['dcpProducer', 'systemCollectionLookup'];
const follower: readonly PrivilegeWord[] = [...follows, 'read', 'dcpStream', 'systemXattrRead'];
const monitor: readonly PrivilegeWord[] = ['simpleStats'];
const dataPrivileges: readonly PrivilegeWord[] = [
  ...reader,
  ...writer,
  'systemCollectionMutation',
  'metaWrite',
  'systemXattrRead',
  'systemXattrWrite',
  'dcpProducer',
  'dcpConsumer',
  'dcpStream',
];

interface Granted {
  role: string;
  names: readonly (string | null)[];
}
const inOrders = (role: string): Granted => ({ role, names: ['b', 'shop', 'orders'] });
const inShop = (role: string): Granted => ({ role, names: ['b', 'shop', null] });
const inBucket = (role: string): Granted => ({ role, names: ['b', null, null] });
const ofBucket = (role: string): Granted => ({ role, names: ['b'] });

/** Roles with the privileges that they hold in each place; a place that is not named has those of the bucket. */
export const roleRows: readonly { roles: readonly Granted[]; held: Partial<Held> }[] = [
  { roles: [inOrders('data_reader')], held: { orders: reader } },
  { roles: [inShop('data_reader')], held: { orders: reader, carts: reader } },
  { roles: [inBucket('data_reader')], held: { bucket: reader } },
  { roles: [inOrders('data_writer')], held: { orders: writer } },
  { roles: [inShop('data_writer')], held: { orders: writer, carts: writer } },
  { roles: [inBucket('data_writer')], held: { bucket: writer } },
  { roles: [inOrders('data_dcp_reader')], held: { orders: follower, bucket: follows } },
  { roles: [inShop('data_dcp_reader')], held: { orders: follower, carts: follower, bucket: follows } },
  { roles: [inBucket('data_dcp_reader')], held: { bucket: follower } },
  { roles: [inOrders('data_monitoring')], held: { orders: monitor } },
  { roles: [inShop('data_monitoring')], held: { orders: monitor, carts: monitor } },
  { roles: [inBucket('data_monitoring')], held: { bucket: monitor } },
  {
    roles: [inOrders('data_dcp_reader'), { role: 'data_reader', names: ['b', 'shop', 'carts'] }],
    held: { orders: follower, carts: [...follows, ...reader], bucket: follows },
  },
  {
    roles: [ofBucket('bucket_full_access')],
    held: { bucket: [...without(dataPrivileges, 'systemCollectionMutation'), ...monitor] },
  },
  { roles: [ofBucket('data_backup')], held: { bucket: [...dataPrivileges, ...monitor] } },
  { roles: [ofBucket('bucket_admin')], held: { bucket: monitor } },
  {
    roles: [ofBucket('replication_target')],
    held: {
      bucket: [
        'read',
        'upsert',
        'systemCollectionLookup',
        'metaWrite',
        'systemXattrRead',
        'systemXattrWrite',
        'simpleStats',
      ],
    },
  },
  { roles: [{ role: 'ro_admin', names: [] }], held: { bucket: monitor } },
  { roles: [{ role: 'admin', names: [] }], held: { bucket: [...dataPrivileges, ...monitor] } },
];

function without(words: readonly PrivilegeWord[], word: PrivilegeWord): readonly PrivilegeWord[] {
  return words.filter((other) => other !== word);
}
