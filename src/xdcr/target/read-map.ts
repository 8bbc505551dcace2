// Reads the short configuration of a bucket of the target from the first of its nodes that answers and belongs to the cluster.
import { hostAndPortOf } from '#base/host-and-port.ts';
import type { RestReply, RestTarget } from '#client/rest.adapter.ts';
import type { TargetAccess } from '../xdcr.contract.ts';
import { type TargetMap, type TerseBucket, targetMapOf } from './target-map.ts';

export type CallRest = (target: RestTarget, method: string, path: string) => Promise<RestReply>;

const timeoutMs = 10_000;

/** @throws Error that says why no node answered, or that the bucket does not exist */
export async function readTargetMap(
  call: CallRest,
  access: TargetAccess,
  bucket: string,
): Promise<TargetMap> {
  let failure = new Error('the target has no nodes');
  for (const address of access.hosts) {
    const { host, port } = hostAndPortOf(address);
    try {
      const target = { host, port, ...accountOf(access), authority: access.authority, timeoutMs };
      await checkCluster(call, target, access.clusterUuid);
      const answer = await call(target, 'GET', `/pools/default/b/${encodeURIComponent(bucket)}`);
      if (answer.status !== 200) throw new Error(reasonOf(answer.status, bucket));
      const map = targetMapOf(JSON.parse(answer.body) as TerseBucket, host, access);
      if (map.actives.length === 0) throw new Error(`the target does not serve bucket ${bucket} yet`);
      return map;
    } catch (error) {
      failure = new Error(`${address}: ${(error as Error).message}`, { cause: error });
    }
  }
  throw failure;
}

/** A node that left the cluster may have a bucket of the same name, and the same users, in another one. */
async function checkCluster(call: CallRest, target: RestTarget, clusterUuid: string): Promise<void> {
  const { status, body } = await call(target, 'GET', '/pools');
  if (status === 401) throw new Error(refusedLogin);
  if (status !== 200) throw new Error(`the target answered with status ${status}`);
  if ((JSON.parse(body) as { uuid?: unknown }).uuid !== clusterUuid)
    throw new Error('the node belongs to another cluster now');
}

const refusedLogin = 'the target refuses the credentials';

const accountOf = ({ username, password, clientCertificate }: TargetAccess) =>
  clientCertificate === undefined ? { username, password } : { clientCertificate };

const reasonOf = (status: number, bucket: string): string => {
  if (status === 404) return `the target has no bucket ${bucket}`;
  if (status === 401) return refusedLogin;
  return `the target answered with status ${status}`;
};
