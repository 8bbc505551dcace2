// Requests that cost the data service most in relation to their size.

import { Message, OpenFlag, StreamFlag } from '../../src/wire/dcp.ts';
import type { RequestParts } from '../../src/wire/output.ts';
import { snappyCompress } from '../../src/wire/snappy.ts';
import { Datatype, Status } from '../../src/wire/status.ts';
import { SubdocOpcode } from '../../src/wire/subdoc-opcodes.ts';
import type { KvConnection, Reply } from '../../test/support/kv-connection.ts';
import { Opcode } from '../../test/support/opcodes.ts';

export interface Attack {
  name: string;
  /** How often each connection sends the requests. */
  rounds: number;
  /** Called once for each connection. */
  begin?(client: KvConnection): Promise<void>;
  /** The requests of one round; `connection` is a number. */
  requests(connection: number): RequestParts[];
  /** Throws for a wrong reply. */
  check?(reply: Reply): void;
  /** Detects the last reply of a round; absent: the reply to a NOOP after the requests. */
  isLast?(reply: Reply): boolean;
}

const mebibyte = 1024 * 1024;
const zeros = (bytes: number): Buffer => Buffer.from(`[${'0,'.repeat(bytes / 2 - 2)}0]`);
/** Two bytes below the limit of a value, so that one byte can be appended and one prepended. */
const large = zeros(20 * mebibyte - 2);
const packed = snappyCompress(large, 0, large.length);
const people = Buffer.from(
  JSON.stringify(Array.from({ length: 60_000 }, (_, id) => ({ id, name: `person ${id}`, tags: [1, 2] }))),
);

const key = (name: string): Buffer => Buffer.from(`\0${name}`);
const set = (name: string, value: Buffer, datatype = 0): RequestParts => ({
  opcode: Opcode.set,
  key: key(name),
  extras: Buffer.alloc(8),
  value,
  datatype,
});
const repeated = (count: number, request: RequestParts): RequestParts[] => new Array(count).fill(request);

const lookupSpec = (opcode: number, path: string): Buffer =>
  Buffer.concat([Buffer.from([opcode, 0, path.length >> 8, path.length & 0xff]), Buffer.from(path)]);
const lookups = (name: string, specs: Buffer[]): RequestParts => ({
  opcode: Opcode.subdocMultiLookup,
  key: key(name),
  value: Buffer.concat(specs),
});
const mutationSpec = (opcode: number, path: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([opcode, 0, 0, path.length, 0, 0, 0, value.length]), Buffer.from(path + value)]);
const stat = (group: string): RequestParts => ({ opcode: Opcode.stat, key: Buffer.from(group) });

const succeeds = ({ opcode, status }: Reply): void => {
  if (status !== Status.success)
    throw new Error(`0x${opcode.toString(16)} answered 0x${status.toString(16)}`);
};

/** A scan may be refused because the memory of open scans is at its limit. */
const succeedsOrIsBusy = (reply: Reply): void => {
  if (reply.status !== Status.busy) succeeds(reply);
};

/** A vbucket with many keys. */
const fullVbucket = 7;
const keysOfFullVbucket = 200_000;

/** Stores the documents that the attacks over so many connections need; those on large documents need no full vbucket. */
export async function prepare(
  client: KvConnection,
  { connections, withFullVbucket }: { connections: number; withFullVbucket: boolean },
): Promise<void> {
  for (const request of [set('small', Buffer.from('1')), set('large', large), set('people', people)])
    succeeds(await client.ask(request));
  for (let index = 0; index < connections; index++) {
    succeeds(await client.ask(set(`own${index}`, large)));
    succeeds(await client.ask(set(`text${index}`, large)));
  }
  succeeds(await client.ask(set('packed', packed, Datatype.snappy)));
  if (!withFullVbucket) return;
  const batch = 1000;
  for (let from = 0; from < keysOfFullVbucket; from += batch) {
    client.send(
      ...Array.from({ length: batch }, (_, at) => ({
        ...set(`key ${from + at}`, Buffer.from('1')),
        vb: fullVbucket,
      })),
    );
    for (let at = 0; at < batch; at++) succeeds((await client.next()) as Reply);
  }
}

const indices = Array.from({ length: 16 }, (_, index) =>
  lookupSpec(Opcode.subdocGet, `[${59_000 + index}].name`),
);
const names = Array.from({ length: 64 }, (_, index) => key(`key ${index}`));
const observed = Buffer.concat(
  Array.from({ length: 4096 }, (_, index) => {
    const name = names[index % names.length] as Buffer;
    return Buffer.concat([Buffer.from([0, fullVbucket, 0, name.length]), name]);
  }),
);
/** Opens a producer of change streams on the connection. */
async function openProducer(client: KvConnection): Promise<void> {
  const extras = Buffer.alloc(8);
  extras.writeUInt32BE(OpenFlag.producer, 4);
  succeeds(
    await client.ask({
      opcode: Opcode.dcpOpen,
      key: Buffer.from(`attack ${client.socket.localPort}`),
      extras,
    }),
  );
}

/** A stream from the start up to the current seqno, or with `isEmpty` up to seqno 0. */
function streamOf(vb: number, isEmpty = false): RequestParts {
  const extras = Buffer.alloc(48);
  if (!isEmpty) extras.writeUInt32BE(StreamFlag.toLatest, 0);
  if (!isEmpty) extras.fill(0xff, 16, 24);
  return { opcode: Opcode.dcpStreamRequest, vb, extras };
}

const scan = (plan: object): RequestParts => ({
  opcode: Opcode.rangeScanCreate,
  vb: fullVbucket,
  datatype: Datatype.json,
  value: Buffer.from(JSON.stringify(plan)),
});

export const attacks: readonly Attack[] = [
  {
    name: '16 counts of the root of 20 MB',
    rounds: 1,
    requests: () => repeated(1, lookups('large', new Array(16).fill(lookupSpec(SubdocOpcode.getCount, '')))),
    check: succeeds,
  },
  {
    name: '16 late paths in 3 MB',
    rounds: 8,
    requests: () => repeated(1, lookups('people', indices)),
    check: succeeds,
  },
  {
    name: '16 changes of 20 MB',
    rounds: 1,
    requests: (connection) => [
      {
        opcode: Opcode.subdocMultiMutation,
        key: key(`own${connection}`),
        value: Buffer.concat(new Array(16).fill(mutationSpec(SubdocOpcode.replace, '[0]', '1'))),
      },
    ],
    check: succeeds,
  },
  {
    name: 'SET of 20 MB',
    rounds: 4,
    requests: (connection) => [set(`own${connection}`, large)],
    check: succeeds,
  },
  {
    name: 'SET of 20 MB, compressed to 1 MB',
    rounds: 2,
    requests: (connection) => [set(`own${connection}`, packed, Datatype.snappy)],
    check: succeeds,
  },
  {
    name: 'SET of 500 kB, pipelined',
    rounds: 2,
    requests: (connection) => repeated(8, set(`half${connection}`, zeros(500 * 1024))),
    check: succeeds,
  },
  {
    name: 'SET of 60 kB of JSON, pipelined',
    rounds: 2,
    requests: (connection) => repeated(200, set(`bit${connection}`, zeros(60 * 1024))),
    check: succeeds,
  },
  {
    name: 'APPEND to 20 MB',
    rounds: 1,
    requests: (connection) => [
      { opcode: Opcode.append, key: key(`text${connection}`), value: Buffer.from(' ') },
    ],
    check: succeeds,
  },
  {
    name: 'GET of 20 MB',
    rounds: 4,
    requests: () => repeated(1, { opcode: Opcode.get, key: key('large') }),
    check: succeeds,
  },
  {
    name: 'GET of 20 MB that were stored compressed',
    rounds: 4,
    requests: () => repeated(1, { opcode: Opcode.get, key: key('packed') }),
    check: succeeds,
  },
  {
    name: 'GET of 20 MB, pipelined by 8',
    rounds: 1,
    requests: () => repeated(8, { opcode: Opcode.get, key: key('large') }),
    check: succeeds,
  },
  {
    name: 'GET_AND_TOUCH of 20 MB',
    rounds: 4,
    requests: (connection) =>
      repeated(1, { opcode: Opcode.getAndTouch, key: key(`own${connection}`), extras: Buffer.alloc(4) }),
    check: succeeds,
  },
  {
    name: 'MULTI_LOOKUP of a whole document of 20 MB',
    rounds: 4,
    requests: () => [lookups('large', [lookupSpec(Opcode.get, '')])],
    check: succeeds,
  },
  {
    name: 'PREPEND to 20 MB',
    rounds: 1,
    requests: (connection) => [
      { opcode: Opcode.prepend, key: key(`text${connection}`), value: Buffer.from(' ') },
    ],
    check: succeeds,
  },
  {
    name: 'a stream of documents of 20 MB',
    rounds: 1,
    begin: openProducer,
    requests: () => [streamOf(0)],
    isLast: ({ opcode }) => opcode === Message.streamEnd,
  },
  {
    name: '1,024 streams at once',
    rounds: 1,
    begin: openProducer,
    requests: () => Array.from({ length: 1024 }, (_, vb) => streamOf(vb, true)),
  },
  {
    name: 'a stream of 200,000 small documents',
    rounds: 1,
    begin: openProducer,
    requests: () => [streamOf(fullVbucket)],
    isLast: ({ opcode }) => opcode === Message.streamEnd,
  },
  {
    name: 'a manifest of 1,200 collections',
    rounds: 4,
    requests: () => repeated(20, { opcode: Opcode.getManifest }),
    check: succeeds,
  },
  {
    name: 'ids of 1,200 collections',
    rounds: 1,
    requests: () =>
      Array.from({ length: 1200 }, (_, at) => ({
        opcode: Opcode.getCollectionId,
        value: Buffer.from(`shop.c${at}`),
      })),
    check: succeeds,
  },
  {
    name: 'all STAT groups of a bucket',
    rounds: 2,
    requests: () =>
      [
        '',
        'all',
        'collections',
        'collections-byid',
        'scopes',
        'dcp',
        'dcpagg',
        'hash',
        'vbucket',
        'failovers',
        'memory',
        'kvtimings',
      ].map(stat),
  },
  {
    name: 'GET_ALL_VB_SEQNOS, pipelined',
    rounds: 4,
    requests: () => repeated(100, { opcode: Opcode.getAllVbSeqnos }),
    check: succeeds,
  },
  {
    name: 'INCR of a compressed value',
    rounds: 4,
    requests: () => repeated(20, { opcode: Opcode.increment, key: key('packed'), extras: Buffer.alloc(20) }),
  },
  {
    name: 'GET, pipelined by 10,000',
    rounds: 4,
    requests: () => repeated(10_000, { opcode: Opcode.get, key: key('small') }),
    check: succeeds,
  },
  {
    name: 'OBSERVE of 4,096 keys',
    rounds: 4,
    requests: () => repeated(8, { opcode: Opcode.observe, value: observed }),
    check: succeeds,
  },
  {
    name: 'all keys of 200,000',
    rounds: 2,
    requests: () => repeated(2, { opcode: Opcode.getKeys, vb: fullVbucket, key: key('k') }),
  },
  { name: 'random keys', rounds: 2, requests: () => repeated(4, { opcode: Opcode.getRandomKey }) },
  {
    name: 'a scan over 200,000 keys',
    rounds: 2,
    requests: () => [scan({ range: { start: '', end: '/w==' } })],
    check: succeedsOrIsBusy,
  },
  {
    name: 'a sample of 200,000 keys',
    rounds: 2,
    requests: () => [scan({ sampling: { seed: 1, samples: 100_000 } })],
    check: succeedsOrIsBusy,
  },
  {
    name: 'STAT of all vbuckets',
    rounds: 1,
    requests: () => ['vbucket-details', 'vbucket-seqno', 'collections-details 7'].map(stat),
  },
  {
    name: 'all seqnos of a collection',
    rounds: 4,
    requests: () => repeated(50, { opcode: Opcode.getAllVbSeqnos, extras: Buffer.alloc(8) }),
    check: succeeds,
  },
  {
    name: 'a stream request with 20 MB of JSON',
    rounds: 1,
    requests: () => [{ opcode: Opcode.dcpStreamRequest, extras: Buffer.alloc(48), value: large }],
  },
  {
    name: 'HELLO with ten million features',
    rounds: 1,
    requests: () => [{ opcode: Opcode.hello, value: Buffer.alloc(20_000_000) }],
  },
];
