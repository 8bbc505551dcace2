// Maps requests about documents to the service.

import { type BoundRoute, bind, type Context, type Params, reply } from '#contract/route.ts';
import { keyBytesMax } from '#wire/collection-id.ts';
import * as contract from './documents.contract.ts';
import type { CollectionPath, DocumentsService } from './documents.service.ts';
import { readPageQuery } from './page-query.ts';

export function documentRoutes(service: DocumentsService): BoundRoute[] {
  return [
    ...[contract.ListDocuments, contract.ListCollectionDocuments].map((route) =>
      bind(route, async ({ params, query }, { signal }) => {
        const path = pathIn(params);
        return reply.json({
          rows: await service.list(path, readPageQuery(query, keyLimitOf(path)), signal),
        });
      }),
    ),
    ...[contract.ReadDocument, contract.ReadCollectionDocument].map((route) =>
      bind(route, async ({ params }, context) => {
        const path = pathIn(params);
        return reply.json(await service.read(path, keyIn(params), () => maySeeSystemData(path, context)));
      }),
    ),
    ...[contract.WriteDocument, contract.WriteCollectionDocument].map((route) =>
      bind(route, async ({ params, body }) => {
        await service.write(pathIn(params), keyIn(params), body);
        return reply.json([]);
      }),
    ),
    ...[contract.DeleteDocument, contract.DeleteCollectionDocument].map((route) =>
      bind(route, async ({ params }) => {
        await service.remove(pathIn(params), keyIn(params));
        return reply.json([]);
      }),
    ),
  ];
}

const keyIn = (params: Params): string => params['document'] as string;

const pathIn = (params: Params): CollectionPath => ({
  bucket: params['bucket'] as string,
  scope: params['scope'] ?? '_default',
  collection: params['collection'] ?? '_default',
});

const keyLimitOf = ({ scope, collection }: CollectionPath): number =>
  scope === '_default' && collection === '_default' ? keyBytesMax.inDefault : keyBytesMax.inOthers;

const maySeeSystemData = ({ bucket, scope, collection }: CollectionPath, context: Context): boolean =>
  context.may(`cluster.collection[${bucket}:${scope}:${collection}].data.sxattr!read`);
