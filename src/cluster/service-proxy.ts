// Forwards requests from the administration port to a service of this node with the caller's credentials, which the service checks again,
// so that the proxy grants no rights.
import { type ForwardTarget, forward } from '#client/forward.adapter.ts';
import type { Context, Method, Reply } from '#contract/route.ts';
import { serviceProxyRefusals } from './refusals/service-proxy.refusals.ts';

/** Resolves with null if the node does not run the service. */
export type ServiceAddress = () => Promise<ForwardTarget | null>;

export interface ProxiedService {
  readonly name: string;
  /** The name of the service, with the name that clients know if that is another one. */
  readonly title: string;
}

export interface ProxiedRequest {
  readonly method: Method;
  /** The path with its query. */
  readonly path: string;
  readonly body: Buffer;
  readonly context: Context;
}

const forwardedHeaders = ['content-type', 'accept', 'user-agent'];

/** @throws one of `serviceProxyRefusals` */
export async function forwardToService(
  address: ServiceAddress,
  { name: service, title }: ProxiedService,
  { method, path, body, context }: ProxiedRequest,
): Promise<Reply> {
  const headers = headersOf(context, service);
  const target = await address();
  if (target === null) throw serviceProxyRefusals.notHere({ service: title });
  const sent = { method, path, headers, body, signal: context.signal };
  const { status, contentType, source } = await forward(target, sent).catch((error: Error) => {
    throw serviceProxyRefusals.noAnswer({ service, reason: error.message });
  });
  return {
    kind: 'bytes',
    status,
    headers: { 'Content-Type': contentType ?? 'application/json' },
    source,
  };
}

function headersOf({ headers }: Context, service: string): Record<string, string> {
  if (headers['cb-on-behalf-of'] !== undefined) throw serviceProxyRefusals.onBehalf({ service });
  const { authorization } = headers;
  if (typeof authorization !== 'string' || !/^basic /i.test(authorization))
    throw serviceProxyRefusals.basicOnly({ service });
  const passed = forwardedHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { ...Object.fromEntries(passed), authorization };
}
