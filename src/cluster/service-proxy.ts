// Forwards requests from the administration port to a service of this node with the caller's credentials, which the service checks again,
// so that the proxy grants no rights.
import { type ForwardTarget, forward } from '#client/forward.adapter.ts';
import type { Context, Method, Reply } from '#contract/route.ts';

/** Resolves with null if the node does not run the service. */
export type ServiceAddress = () => Promise<ForwardTarget | null>;

export interface ProxyRefusals {
  notHere(): Error;
  noAnswer(about: { reason: string }): Error;
  onBehalf(): Error;
  basicOnly(): Error;
}

export interface ProxiedRequest {
  readonly method: Method;
  /** With the query. */
  readonly path: string;
  readonly body: Buffer;
  readonly context: Context;
}

const forwardedHeaders = ['content-type', 'accept', 'user-agent'];

/** @throws one of the refusals */
export async function forwardToService(
  address: ServiceAddress,
  refusals: ProxyRefusals,
  { method, path, body, context }: ProxiedRequest,
): Promise<Reply> {
  const headers = headersOf(context, refusals);
  const target = await address();
  if (target === null) throw refusals.notHere();
  const sent = { method, path, headers, body, signal: context.signal };
  const { status, contentType, source } = await forward(target, sent).catch((error: Error) => {
    throw refusals.noAnswer({ reason: error.message });
  });
  return {
    kind: 'forwarded',
    status,
    headers: { 'Content-Type': contentType ?? 'application/json' },
    source,
  };
}

function headersOf({ headers }: Context, refusals: ProxyRefusals): Record<string, string> {
  if (headers['cb-on-behalf-of'] !== undefined) throw refusals.onBehalf();
  const { authorization } = headers;
  if (typeof authorization !== 'string' || !/^basic /i.test(authorization)) throw refusals.basicOnly();
  const passed = forwardedHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(passed), authorization };
}
