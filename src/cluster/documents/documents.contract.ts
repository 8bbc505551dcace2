// Documents of a collection over REST, for consoles: pages of keys, and one document to read, store and delete.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

/** A path to documents, and the collection that it names. */
interface DocumentsTarget {
  readonly id: string;
  readonly path: string;
  readonly collection: string;
  readonly name: string;
}

const targets = {
  bucket: {
    id: 'documents',
    path: '/pools/default/buckets/:bucket/docs',
    collection: '{bucket}:_default:_default',
    name: 'the default collection',
  },
  collection: {
    id: 'collection_documents',
    path: '/pools/default/buckets/:bucket/scopes/:scope/collections/:collection/docs',
    collection: '{bucket}:{scope}:{collection}',
    name: 'a collection',
  },
} as const;

const access = ({ collection }: DocumentsTarget, operation: 'read' | 'upsert' | 'delete'): Access => ({
  kind: 'permission',
  permission: `cluster.collection[${collection}].data.docs!${operation}`,
});

const content = { json: shape.string, base64: shape.string };
const page = shape.object({
  rows: shape.array(shape.object({ id: shape.string }, { doc: shape.object({}, content) })),
});
const document = shape.object(
  {
    meta: shape.object({
      ...shape.each(shape.string, 'id', 'rev', 'cas'),
      ...shape.each(shape.integer, 'expiration', 'flags'),
    }),
    xattrs: shape.record(shape.any),
  },
  content,
);
const nothing = shape.array(shape.any);

/** The limit of an encoded body, so that no request occupies the REST thread for long. */
const bodyBytesMax = 10 << 20;

const routesOf = (target: DocumentsTarget) => ({
  list: defineRoute({
    id: `${target.id}.list`,
    method: 'GET',
    path: target.path,
    access: access(target, 'read'),
    answer: { json: page },
    doc: `Keys of ${target.name} in order: at most \`limit\` (1000) after skipping \`skip\` (0), from \`startkey\` to \`endkey\` (JSON strings; \`inclusive_end=false\` excludes the last), with \`include_docs=true\` the documents too.`,
  }),
  read: defineRoute({
    id: `${target.id}.read`,
    method: 'GET',
    path: `${target.path}/:document`,
    access: access(target, 'read'),
    answer: { json: document },
    doc: `A document of ${target.name}: JSON as text in \`json\`, any other in \`base64\`.`,
  }),
  write: defineRoute({
    id: `${target.id}.write`,
    method: 'POST',
    path: `${target.path}/:document`,
    access: access(target, 'upsert'),
    bodyKind: 'form',
    bodyBytesMax,
    hasUserData: true,
    answer: { json: nothing },
    doc: `Stores \`value\` as a document of ${target.name}, with \`flags\` if sent; with \`cas\` only over that version. Keeps the expiry of an existing document.`,
  }),
  remove: defineRoute({
    id: `${target.id}.delete`,
    method: 'DELETE',
    path: `${target.path}/:document`,
    access: access(target, 'delete'),
    answer: { json: nothing },
    doc: `Deletes a document of ${target.name}.`,
  }),
});

export const {
  list: ListDocuments,
  read: ReadDocument,
  write: WriteDocument,
  remove: DeleteDocument,
} = routesOf(targets.bucket);

export const {
  list: ListCollectionDocuments,
  read: ReadCollectionDocument,
  write: WriteCollectionDocument,
  remove: DeleteCollectionDocument,
} = routesOf(targets.collection);
