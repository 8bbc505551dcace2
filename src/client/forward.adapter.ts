// Sends a request on to another HTTP server and resolves with its response as a stream, read only as fast as the caller consumes it.
import type { IncomingMessage } from 'node:http';
import { http } from '#ports/node-http.ts';

export interface ForwardTarget {
  readonly host: string;
  readonly port: number;
  /** The local address to connect from, if the server's allowlist admits only that. */
  readonly localAddress?: string | undefined;
}

export interface ForwardedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Ends the request and the response. */
  readonly signal: AbortSignal;
}

export interface ForwardedResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly source: AsyncIterable<Uint8Array>;
}

/** A connection without a byte for this long is closed. */
const idleTimeoutMs = 600_000;

export function forward(
  target: ForwardTarget,
  { method, path, headers, body, signal }: ForwardedRequest,
): Promise<ForwardedResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<ForwardedResponse>();
  const outgoing = http.request({
    host: target.host,
    port: target.port,
    method,
    path,
    signal,
    ...(target.localAddress !== undefined && { localAddress: target.localAddress }),
    agent: false,
    timeout: idleTimeoutMs,
    headers: { ...headers, 'content-length': body.length },
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer in ${idleTimeoutMs} ms`)));
  outgoing.on('error', reject);
  outgoing.on('response', (response: IncomingMessage) =>
    resolve({
      status: response.statusCode ?? 502,
      contentType: response.headers['content-type'],
      source: response,
    }),
  );
  outgoing.end(body);
  return promise;
}
