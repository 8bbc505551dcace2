// The REST API of another cluster: the requests that references and replications send.
import type { CallTarget } from '../../src/cluster/xdcr/target-cluster.ts';

export const targetUuid = 'f'.repeat(32);
export const bucketOf = (more: object = {}) => ({
  uuid: 'b'.repeat(32),
  bucketType: 'membase',
  conflictResolutionType: 'seqno',
  vBucketServerMap: { vBucketMap: Array.from({ length: 1024 }, () => [0]) },
  ...more,
});

export interface Target {
  uuid?: string;
  password?: string;
  bucket?: object | null;
  /** Certificate of its authority; absent: it shows none. */
  certificate?: string;
  /** The error with which every request fails; absent: the target answers. */
  fails?: NodeJS.ErrnoException;
}

/** A target that answers as a node does. */
export const aTarget =
  ({ uuid = targetUuid, password = 'pw', bucket = bucketOf(), certificate, fails }: Target): CallTarget =>
  async (target, _method, path) => {
    if (fails) throw fails;
    if (path === '/pools/default/certificate' && certificate !== undefined)
      return { status: 200, body: certificate };
    if (path === '/nodes/self/xdcrSSLPorts') return { status: 200, body: '{"httpsMgmt":18091}' };
    if (target.password !== password) return { status: 401, body: '' };
    const answer = (value: unknown) => ({ status: 200, body: JSON.stringify(value) });
    if (path === '/pools') return answer({ uuid, pools: [{}] });
    if (path === '/pools/default/nodeServices') return answer({ nodesExt: [{ services: { mgmt: 8091 } }] });
    if (path === '/pools/default/buckets/taken' && bucket !== null) return answer(bucket);
    return { status: 404, body: '' };
  };
