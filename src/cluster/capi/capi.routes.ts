// Handlers of the view ports (`--capi-port`): they confirm that a bucket exists, and refuse requests for views.
import { type BoundRoute, bind, type Context, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { Product } from '../config/product.ts';
import { documentRefusals } from '../refusals/documents.refusals.ts';
import * as contract from './capi.contract.ts';

export function capiRoutes({ view, product }: { view: ClusterView; product: Product }): BoundRoute[] {
  const bucketName = (base: string | undefined, context: Context): string => {
    const bucket = view
      .liveBuckets()
      .find(({ name, uuid, type }) => type === 'native' && (base === name || base === `${name}+${uuid}`));
    if (!bucket || !context.may(`cluster.bucket[${bucket.name}].views!read`)) {
      throw documentRefusals.noDatabase();
    }
    return bucket.name;
  };
  // Published clients repeat a view query that got 501 until it times out, but report a 404 with its reason at once.
  const noViews = (base: string | undefined, context: Context): never => {
    bucketName(base, context);
    throw documentRefusals.noViews();
  };
  return [
    bind(contract.CapiRoot, () =>
      reply.json({ couchdb: 'Welcome', version: product.version, views: 'not served by this version' }),
    ),
    bind(contract.CapiBucket, ({ params }, context) =>
      reply.json({ db_name: bucketName(params['base'], context) }),
    ),
    ...contract.refusedForLackOfViews.map((route) =>
      bind(route, ({ params }, context) => noViews(params['base'], context)),
    ),
  ];
}
