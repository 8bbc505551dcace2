// Forwards requests from the administration port to the backup service of this node.
import { type BoundRoute, bind, type Context, type Form, type Method, type Params } from '#contract/route.ts';
import { forwardToService, type ServiceAddress } from '../service-proxy.ts';
import * as contract from './backup-proxy.contract.ts';

const service = { name: 'backup', title: 'backup' };
const noBody = Buffer.alloc(0);

export function backupProxyRoutes(address: ServiceAddress): BoundRoute[] {
  const send = (
    method: Method,
    { params, query, body = noBody }: { params: Params; query: unknown; body?: Buffer },
    context: Context,
  ) =>
    forwardToService(address, service, {
      method,
      path: pathOf(params, query as Form),
      body,
      context,
    });
  return [
    bind(contract.GetProxied, ({ params, query }, context) => send('GET', { params, query }, context)),
    bind(contract.DeleteProxied, ({ params, query }, context) => send('DELETE', { params, query }, context)),
    bind(contract.PostProxied, (input, context) => send('POST', input, context)),
    bind(contract.PutProxied, (input, context) => send('PUT', input, context)),
    bind(contract.PatchProxied, (input, context) => send('PATCH', input, context)),
  ];
}

function pathOf({ path = '' }: Params, query: Form): string {
  const search = new URLSearchParams(query).toString();
  const encoded = `/${path.split('/').map(encodeURIComponent).join('/')}`;
  return search === '' ? encoded : `${encoded}?${search}`;
}
