// Where the query service of a cluster is, as any of its nodes says over its REST API.
import { urlHost } from '#base/host-and-port.ts';
import { reachedHost } from '#base/host-placeholder.ts';
import type { RemoteNode } from '../remote/remote-node.ts';

interface NodeServices {
  readonly nodesExt?: readonly {
    readonly hostname?: string;
    readonly services: Readonly<Record<string, number>>;
  }[];
}

/** Null: no node runs the service. @throws CommandError when no REST API of a node answers there, or the node refuses the user */
export async function queryUrl(node: RemoteNode): Promise<string | null> {
  const { nodesExt = [] } = (await node.get('/pools/default/nodeServices')) as NodeServices;
  const [protocol, service] =
    node.address.authority === undefined ? (['http', 'n1ql'] as const) : (['https', 'n1qlSSL'] as const);
  const found = nodesExt.find(({ services }) => services[service] !== undefined);
  if (found === undefined) return null;
  const host = reachedHost(found.hostname, node.address.host);
  return `${protocol}://${urlHost(host)}:${found.services[service]}`;
}
