// `divan collection`: scopes and collections of a bucket, over the REST API of a running node.
import { nodeConnection } from '../connection-options.ts';
import { UsageError } from '../options.ts';
import { columns } from '../terminal.ts';
import { integerOption, jsonFlag } from './common-options.ts';
import { givenFields, RemoteNode, urlPath } from './remote-node.ts';
import { verb } from './verb.ts';

const plain = { ...nodeConnection('user with the role scope_admin, or more'), json: jsonFlag } as const;
const ttl = {
  'max-ttl': {
    kind: integerOption(0, 2_147_483_647, 'SECONDS'),
    doc: 'the longest expiry of a document; 0: that of the bucket',
  },
} as const;

interface Manifest {
  readonly uid: string;
  readonly scopes: readonly {
    readonly name: string;
    readonly collections: readonly { readonly name: string; readonly maxTTL?: number }[];
  }[];
}

export const collectionVerbs = [
  verb('list BUCKET', 'the scopes and collections of a bucket', plain, async (options, [bucket = '']) => {
    const { scopes } = (await new RemoteNode(options).get(
      urlPath`/pools/default/buckets/${bucket}/scopes`,
    )) as Manifest;
    const value = scopes.map(({ name, collections }) => ({
      scope: name,
      collections: collections.map(({ name: collection, maxTTL = 0 }) => ({ name: collection, maxTTL })),
    }));
    const rows = value.flatMap(({ scope, collections }) =>
      collections.length === 0
        ? [[scope, '', '']]
        : collections.map(({ name, maxTTL }) => [scope, name, maxTTL === 0 ? '' : `${maxTTL} s`]),
    );
    return { value, text: columns([['scope', 'collection', 'longest expiry'], ...rows]) };
  }),
  verb(
    'create BUCKET PATH',
    'creates a scope (PATH: its name) or a collection (PATH: scope.collection, the scope too if it is missing)',
    { ...plain, ...ttl },
    async (options, [bucket = '', path = '']) => {
      const [scope, collection] = namesIn(path);
      const node = new RemoteNode(options);
      const scopes = urlPath`/pools/default/buckets/${bucket}/scopes`;
      if (collection === undefined) {
        if (options['max-ttl'] !== undefined)
          throw new UsageError('--max-ttl: a scope has no longest expiry, only a collection');
        await waitForManifest(node, bucket, await create(node, scopes, { name: scope }));
        return { value: { bucket, scope }, text: `scope "${scope}" is created` };
      }
      const { scopes: present } = (await node.get(scopes)) as Manifest;
      if (!present.some(({ name }) => name === scope)) await create(node, scopes, { name: scope });
      const fields = { name: collection, ...givenFields({ maxTTL: options['max-ttl'] }) };
      await waitForManifest(
        node,
        bucket,
        await create(node, `${scopes}/${encodeURIComponent(scope)}/collections`, fields),
      );
      return { value: { bucket, scope, collection }, text: `collection "${path}" is created` };
    },
  ),
  verb(
    'edit BUCKET PATH',
    'changes the longest expiry in a collection (PATH: scope.collection)',
    { ...plain, ...ttl },
    async (options, [bucket = '', path = '']) => {
      const maxTTL = options['max-ttl'];
      if (maxTTL === undefined) throw new UsageError('nothing to change is given: --max-ttl SECONDS');
      const [scope, collection] = namesIn(path);
      if (collection === undefined)
        throw new UsageError(`"${path}" is a scope; a collection is written as scope.collection`);
      const at = urlPath`/pools/default/buckets/${bucket}/scopes/${scope}/collections/${collection}`;
      await new RemoteNode(options).request('PATCH', at, { maxTTL });
      return { value: { bucket, scope, collection, maxTTL }, text: `collection "${path}" is changed` };
    },
  ),
  verb(
    'delete BUCKET PATH',
    'drops a scope (PATH: its name) or a collection (PATH: scope.collection) with its documents',
    plain,
    async (options, [bucket = '', path = '']) => {
      const [scope, collection] = namesIn(path);
      const ofScope = urlPath`/pools/default/buckets/${bucket}/scopes/${scope}`;
      const at =
        collection === undefined ? ofScope : `${ofScope}/collections/${encodeURIComponent(collection)}`;
      await new RemoteNode(options).request('DELETE', at);
      const what = collection === undefined ? 'scope' : 'collection';
      return {
        value: { bucket, scope, ...(collection !== undefined && { collection }) },
        text: `${what} "${path}" is dropped`,
      };
    },
  ),
];

/** Names of scopes and collections have no dots. */
function namesIn(path: string): [scope: string, collection: string | undefined] {
  const [scope = '', collection, ...more] = path.split('.');
  if (more.length > 0 || scope === '' || collection === '')
    throw new UsageError(`"${path}" should be a scope, or scope.collection`);
  return [scope, collection];
}

/** Creates a scope or collection; returns the uid of the manifest that contains it. */
async function create(
  node: RemoteNode,
  path: string,
  fields: Record<string, string | number | boolean>,
): Promise<string> {
  const { body } = await node.request('POST', path, fields);
  return (JSON.parse(body) as { uid: string }).uid;
}

/** Waits until the data service has the manifest, so that the next command can write. */
async function waitForManifest(node: RemoteNode, bucket: string, uid: string): Promise<void> {
  await node.request('POST', urlPath`/pools/default/buckets/${bucket}/scopes/@ensureManifest/${uid}`, {});
}
