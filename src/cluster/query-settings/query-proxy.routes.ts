// Forwards statements from the administration port to the query service of this node.
import { type BoundRoute, bind, type Form } from '#contract/route.ts';
import { forwardToService, type ServiceAddress } from '../service-proxy.ts';
import * as contract from './query-proxy.contract.ts';

const service = { name: 'query', title: 'query (n1ql)' };

export const queryProxyRoutes = (address: ServiceAddress): BoundRoute[] => [
  bind(contract.RunStatement, ({ query, body }, context) =>
    forwardToService(address, service, { method: 'POST', path: pathOf(query), body, context }),
  ),
];

function pathOf(query: Form): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? '/query/service' : `/query/service?${search}`;
}
