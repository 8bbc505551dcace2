// Documents of a collection over REST, for consoles: pages of keys, and one document to read, store and delete.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

interface Place {
  readonly id: string;
  readonly path: string;
  readonly collection: string;
  readonly words: string;
}

const places = {
  bucket: {
    id: 'documents',
    path: '/pools/default/buckets/:bucket/docs',
    collection: '{bucket}:_default:_default',
    words: 'the default collection',
  },
  collection: {
    id: 'collection_documents',
    path: '/pools/default/buckets/:bucket/scopes/:scope/collections/:collection/docs',
    collection: '{bucket}:{scope}:{collection}',
    words: 'a collection',
  },
} as const;

const access = ({ collection }: Place, operation: 'read' | 'upsert' | 'delete'): Access => ({
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

const routesOf = (place: Place) => ({
  list: defineRoute({
    id: `${place.id}.list`,
    method: 'GET',
    path: place.path,
    access: access(place, 'read'),
    answer: { json: page },
    doc: `Keys of ${place.words} in order: at most \`limit\` (1000) after skipping \`skip\` (0), from \`startkey\` to \`endkey\` (JSON strings; \`inclusive_end=false\` excludes the last), with \`include_docs=true\` the documents too.`,
  }),
  read: defineRoute({
    id: `${place.id}.read`,
    method: 'GET',
    path: `${place.path}/:document`,
    access: access(place, 'read'),
    answer: { json: document },
    doc: `A document of ${place.words}: JSON as text in \`json\`, any other in \`base64\`.`,
  }),
  write: defineRoute({
    id: `${place.id}.write`,
    method: 'POST',
    path: `${place.path}/:document`,
    access: access(place, 'upsert'),
    bodyKind: 'form',
    bodyLimit: bodyBytesMax,
    hasUserData: true,
    answer: { json: nothing },
    doc: `Stores \`value\` as a document of ${place.words}, with \`flags\` if sent; with \`cas\` only over that version. Keeps the expiry of an existing document.`,
  }),
  remove: defineRoute({
    id: `${place.id}.delete`,
    method: 'DELETE',
    path: `${place.path}/:document`,
    access: access(place, 'delete'),
    answer: { json: nothing },
    doc: `Deletes a document of ${place.words}.`,
  }),
});

export const {
  list: ListDocuments,
  read: ReadDocument,
  write: WriteDocument,
  remove: DeleteDocument,
} = routesOf(places.bucket);

export const {
  list: ListCollectionDocuments,
  read: ReadCollectionDocument,
  write: WriteCollectionDocument,
  remove: DeleteCollectionDocument,
} = routesOf(places.collection);
