// Forwards statements from the administration port to the query service of this node.
import { type BoundRoute, bind, type Form } from '#contract/route.ts';
import { queryRefusals } from '../refusals/query.refusals.ts';
import { forwardToService, type ServiceAddress } from '../service-proxy.ts';
import * as contract from './query-proxy.contract.ts';

export const queryProxyRoutes = (address: ServiceAddress): BoundRoute[] => [
  bind(contract.RunStatement, ({ query, body }, context) =>
    forwardToService(address, queryRefusals, { method: 'POST', path: pathOf(query), body, context }),
  ),
];

function pathOf(query: Form): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? '/query/service' : `/query/service?${search}`;
}
