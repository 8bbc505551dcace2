// Forwards statements from the administration port to the query service of this node with the caller's credentials, which the query
// service checks again, so that the proxy grants no rights.
import { type ForwardTarget, forward } from '#client/forward.adapter.ts';
import { type BoundRoute, bind, type Context, type Form } from '#contract/route.ts';
import { queryRefusals } from '../refusals/query.refusals.ts';
import * as contract from './query-proxy.contract.ts';

/** Resolves with null if the node does not run the query service. */
export type QueryAddress = () => Promise<ForwardTarget | null>;

const forwardedHeaders = ['content-type', 'accept', 'user-agent'];

export const queryProxyRoutes = (address: QueryAddress): BoundRoute[] => [
  bind(contract.RunStatement, async ({ query, body }, context) => {
    const headers = headersOf(context);
    const target = await address();
    if (target === null) throw queryRefusals.notHere();
    const sent = { method: 'POST', path: pathOf(query), headers, body, signal: context.signal };
    const { status, contentType, source } = await forward(target, sent).catch((error: Error) => {
      throw queryRefusals.noAnswer({ reason: error.message });
    });
    return {
      kind: 'forwarded',
      status,
      headers: { 'Content-Type': contentType ?? 'application/json' },
      source,
    };
  }),
];

function headersOf({ headers }: Context): Record<string, string> {
  if (headers['cb-on-behalf-of'] !== undefined) throw queryRefusals.onBehalf();
  const { authorization } = headers;
  if (typeof authorization !== 'string' || !/^basic /i.test(authorization)) throw queryRefusals.basicOnly();
  const passed = forwardedHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(passed), authorization };
}

function pathOf(query: Form): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? '/query/service' : `/query/service?${search}`;
}
