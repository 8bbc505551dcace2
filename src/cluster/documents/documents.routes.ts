// Maps requests about documents to the service.
import { type BoundRoute, bind, type Context, type Params, reply } from '#contract/route.ts';
import * as contract from './documents.contract.ts';
import type { DocumentPlace, DocumentsService } from './documents.service.ts';
import { readPage } from './page-query.ts';

export function documentRoutes(service: DocumentsService): BoundRoute[] {
  return [
    ...[contract.ListDocuments, contract.ListCollectionDocuments].map((route) =>
      bind(route, async ({ params, query }, { signal }) =>
        reply.json({ rows: await service.list(placeIn(params), readPage(query), signal) }),
      ),
    ),
    ...[contract.ReadDocument, contract.ReadCollectionDocument].map((route) =>
      bind(route, async ({ params }, context) => {
        const place = placeIn(params);
        return reply.json(await service.read(place, keyIn(params), () => maySeeSystemData(place, context)));
      }),
    ),
    ...[contract.WriteDocument, contract.WriteCollectionDocument].map((route) =>
      bind(route, async ({ params, body }) => {
        await service.write(placeIn(params), keyIn(params), body);
        return reply.json([]);
      }),
    ),
    ...[contract.DeleteDocument, contract.DeleteCollectionDocument].map((route) =>
      bind(route, async ({ params }) => {
        await service.remove(placeIn(params), keyIn(params));
        return reply.json([]);
      }),
    ),
  ];
}

const keyIn = (params: Params): string => params['document'] as string;

const placeIn = (params: Params): DocumentPlace => ({
  bucket: params['bucket'] as string,
  scope: params['scope'] ?? '_default',
  collection: params['collection'] ?? '_default',
});

const maySeeSystemData = ({ bucket, scope, collection }: DocumentPlace, context: Context): boolean =>
  context.may(`cluster.collection[${bucket}:${scope}:${collection}].data.sxattr!read`);
