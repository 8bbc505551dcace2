// `divan doc`: documents of a collection of a running node, over its data port; lists of keys over its REST API.
import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { exactJson } from '#base/exact-json.ts';
import { jsonFlags, type StoreRequest } from '#client/bucket-client.ts';
import { nodeConnection } from '../connection-options.ts';
import { CommandError } from '../exit-status.ts';
import { choice, kinds, type OptionKind, UsageError } from '../options.ts';
import { BucketData } from './bucket-data.ts';
import { collectionOptions, expiryAfter, expirySeconds, integerOption, jsonFlag } from './common-options.ts';
import { RemoteNode, type RemoteOptions, urlPath } from './remote-node.ts';
import { absent, storeDocument } from './store-document.ts';
import { type VerbOutput, verb } from './verb.ts';

const commonOptions = {
  ...nodeConnection('user with the roles data_reader and data_writer, or more'),
  ...collectionOptions,
  json: jsonFlag,
} as const;
const valueBytesMax = 20 << 20;
/** The most keys that a node lists in one answer. */
const listedMax = 10_000;

const casText: OptionKind<bigint> = {
  placeholder: 'CAS',
  parse(text) {
    if (/^\d{1,20}$/.test(text) && BigInt(text) > 0n && BigInt(text) < 1n << 64n) return BigInt(text);
    throw new UsageError(`"${text}" is not a CAS as divan doc get --json prints it`);
  },
};

const casOption = { cas: { kind: casText, doc: 'only if the document has this CAS' } } as const;
const storeOptions = {
  file: { kind: kinds.path, doc: 'file of the value; -: standard input' },
  expiry: { kind: expirySeconds, doc: 'time after which the document expires' },
  durability: {
    kind: choice('none', 'majority', 'majorityAndPersistActive', 'persistToMajority'),
    default: 'none',
    doc: 'durability level to wait for',
  },
} as const;

interface CollectionOptions extends RemoteOptions {
  readonly scope: string;
  readonly collection: string;
}

export const docVerbs = [
  verb('get BUCKET KEY', 'prints a document', commonOptions, async (options, [bucket = '', key = '']) =>
    withCollection(options, bucket, async (data, id) => {
      const found = await data.get(id, key);
      if (found === undefined) throw absent(bucket, key);
      const { value, isJson, cas, flags } = found;
      const content = isJson ? { value: exactJson(value.toString()) } : { base64: value.toString('base64') };
      const text = isUtf8(value) ? value.toString() : value;
      return { value: { key, cas: String(cas), flags, ...content }, text };
    }),
  ),
  verb(
    'set BUCKET KEY [VALUE]',
    'stores a document; replaces an existing one',
    { ...commonOptions, ...storeOptions, ...casOption },
    async (options, [bucket = '', key = '', value]) => {
      const request = requestOf(key, value, options);
      return withCollection(options, bucket, (data, id) =>
        storeDocument(data, id, {
          ...request,
          kind: options.cas === undefined ? 'set' : 'replace',
          cas: options.cas ?? 0n,
        }),
      );
    },
  ),
  verb(
    'insert BUCKET KEY [VALUE]',
    'stores a document; a key that exists is refused',
    { ...commonOptions, ...storeOptions },
    async (options, [bucket = '', key = '', value]) => {
      const request = requestOf(key, value, options);
      return withCollection(options, bucket, (data, id) =>
        storeDocument(data, id, { ...request, kind: 'add', cas: 0n }),
      );
    },
  ),
  verb(
    'delete BUCKET KEY',
    'deletes a document',
    { ...commonOptions, ...casOption },
    async (options, [bucket = '', key = '']) =>
      withCollection(options, bucket, (data, id) =>
        storeDocument(data, id, {
          kind: 'remove',
          key,
          value: Buffer.alloc(0),
          cas: options.cas ?? 0n,
          expiry: 0,
        }),
      ),
  ),
  verb(
    'list BUCKET',
    'lists keys in order; --values prints their documents too',
    {
      ...commonOptions,
      prefix: { kind: kinds.text, default: '', doc: 'only keys with this prefix' },
      after: { kind: kinds.text, doc: 'only keys after this one, such as the last key of the previous page' },
      limit: { kind: integerOption(1, listedMax), default: 100, doc: 'maximum number of keys' },
      values: { kind: kinds.flag, default: false, doc: 'print the documents too' },
    },
    async (options, [bucket = '']) => {
      const { scope, collection, prefix, after, limit, values } = options;
      const first = after === undefined || isBefore(after, prefix) ? prefix : after;
      const node = new RemoteNode(options);
      const path = urlPath`/pools/default/buckets/${bucket}/scopes/${scope}/collections/${collection}/docs`;
      const read = async (start: string, count: number): Promise<Row[]> => {
        const query = { limit: `${count}`, include_docs: `${values}`, startkey: JSON.stringify(start) };
        const { rows } = (await node.get(`${path}?${new URLSearchParams(query)}`)) as { rows: Row[] };
        return rows;
      };
      // One more than the limit: the rows may begin with `after` itself.
      const rows = await read(first, Math.min(limit + 1, listedMax));
      // The largest answer has no room for one more: the last key of the page is then read on its own.
      const last = rows[listedMax - 1]?.id;
      if (last !== undefined && rows[0]?.id === after)
        rows.push(...(await read(last, 2)).filter(({ id }) => id !== last));
      const found = rows.filter(({ id }) => id !== after && id.startsWith(prefix)).slice(0, limit);
      return {
        value: found.map(({ id, doc }) => ({ key: id, ...(values && contentOf(doc)) })),
        text: found
          .map(({ id, doc }) => (values ? `${id}\t${doc?.json ?? `(${doc?.base64} in base64)`}` : id))
          .join('\n'),
      };
    },
  ),
];

/** Whether a node lists the key `one` before `other`: it compares the bytes of their UTF-8. */
const isBefore = (one: string, other: string): boolean =>
  Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0;

interface Row {
  readonly id: string;
  readonly doc?: { readonly json?: string; readonly base64?: string };
}

const contentOf = (doc: Row['doc']) =>
  doc?.json === undefined ? { base64: doc?.base64 ?? '' } : { value: exactJson(doc.json) };

async function withCollection(
  options: CollectionOptions,
  bucket: string,
  act: (data: BucketData, collectionId: number) => Promise<VerbOutput>,
): Promise<VerbOutput> {
  using data = await BucketData.open(new RemoteNode(options), bucket);
  return await act(data, await data.collectionId(options.scope, options.collection));
}

interface StoreOptions {
  readonly file: string | undefined;
  readonly expiry: number | undefined;
  readonly durability: StoreRequest['durability'];
  readonly 'password-file': string | undefined;
}

function requestOf(key: string, given: string | undefined, options: StoreOptions) {
  const { file, expiry = 0, durability = 'none' } = options;
  if ((given === undefined) === (file === undefined))
    throw new UsageError(
      given === undefined
        ? 'VALUE is missing: give it, or --file PATH (-: standard input)'
        : 'VALUE and --file are given; give one of them',
    );
  if (file === '-' && options['password-file'] === '-')
    throw new UsageError('--file and --password-file: both name standard input');
  const value = given === undefined ? contentOfFile(file as string) : Buffer.from(given);
  if (value.length > valueBytesMax) throw new CommandError('the value has more than 20 MiB');
  const flags = isJson(value) ? jsonFlags : binaryFlags;
  return { key, value, flags, durability, expiry: expiryAfter(expiry) };
}

function contentOfFile(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file);
  } catch (error) {
    throw new UsageError(`--file: cannot read ${file}: ${(error as Error).message}`);
  }
}

/** The flags that SDKs store with a value that is not JSON. */
const binaryFlags = 0x03000000;

function isJson(value: Buffer): boolean {
  // Bytes that are no UTF-8 would be read as replacement characters.
  if (!isUtf8(value)) return false;
  try {
    JSON.parse(value.toString());
    return true;
  } catch {
    return false;
  }
}
