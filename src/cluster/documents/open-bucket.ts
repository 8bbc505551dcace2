// Opens a client of a bucket for the cluster manager, on this node alone or over all nodes with documents.
import type { BucketClient } from '#client/bucket-client.ts';
import type { ClusterLayout } from '#client/cluster-routes.ts';
import type { WireAccount, WireAddress } from '#client/wire-address.ts';
import type { Clock } from '#ports/clock.ts';

/** How this node's own connections reach its data port. */
export type DataPortAccess = () => Promise<{
  address: WireAddress;
  account: WireAccount;
  /** The other nodes with documents; null or absent while this one is alone. */
  cluster?: ClusterLayout | null;
}>;

export interface OpenBucketDeps {
  readonly dataPort: DataPortAccess;
  readonly clock: Clock;
}

/**
 * The first call loads the client, since most nodes get no such requests.
 *
 * @throws DataPortError or StatusError
 */
export async function openBucket({ dataPort, clock }: OpenBucketDeps, bucket: string): Promise<BucketClient> {
  const { cluster = null, ...access } = await dataPort();
  if (cluster === null)
    return (await import('#client/bucket-client.ts')).BucketClient.open({ ...access, bucket });
  const [{ ClusterBucketClient }, { ClusterRoutes }] = await Promise.all([
    import('#client/cluster-bucket-client.ts'),
    import('#client/cluster-routes.ts'),
  ]);
  return ClusterBucketClient.openAll({ ...access, bucket, clock, routes: new ClusterRoutes(cluster) });
}
