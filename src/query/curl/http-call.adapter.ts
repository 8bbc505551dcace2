// Sends one request of CURL(). The address to which a connection goes is checked, not only the name: a name may resolve to another address
// each time. A call does not reuse connections, use proxies or follow redirects.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock, Timer } from '#ports/clock.ts';
import { http, https } from '#ports/node-http.ts';
import { CurlError, type CurlRequest } from './curl-options.ts';
import { isForbidden } from './forbidden-addresses.adapter.ts';
import type { Lookups } from './lookups.adapter.ts';

export interface HttpCallOptions {
  readonly clock: Clock;
  /** Whether no connection may go to this address. Tests, whose servers are on this machine, replace it. */
  readonly refuses?: (address: string) => boolean;
  /** Resolves names, for all calls of the node. */
  readonly lookups: Lookups;
  /** Certificate of an authority, as PEM, instead of Node's list. */
  readonly authority?: string;
  /** Called with the bytes of each chunk of an answer. @throws CurlError above a limit */
  readonly countBytes: (bytes: number) => void;
}

export interface HttpReply {
  readonly status: number;
  readonly body: Buffer;
}

const headerBytesMax = 64 << 10;
const forbiddenText =
  'its address is forbidden: it belongs to this machine, to its network link or to a metadata service';

/** Rejects with a CurlError, or with the signal's reason. */
export function httpCall(
  request: CurlRequest,
  signal: AbortSignal,
  options: HttpCallOptions,
): Promise<HttpReply> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpReply>();
  const refuses = options.refuses ?? refusesAddress;
  const host = request.url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) > 0 && refuses(host)) return Promise.reject(new CurlError(forbiddenText));
  const outgoing = open(request, host, { ...options, refuses });
  const timers = limitTime(outgoing, request, options.clock);
  const abort = (): void => void outgoing.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  outgoing.on('error', (error) => reject(signal.aborted ? (signal.reason as Error) : failureOf(error)));
  outgoing.on('response', (response) => {
    collect(response, request.bytesMax, options.countBytes).then(resolve, (error: unknown) => {
      outgoing.destroy();
      reject(signal.aborted ? (signal.reason as Error) : failureOf(error as Error));
    });
  });
  outgoing.on('close', () => {
    for (const timer of timers) timer.cancel();
    signal.removeEventListener('abort', abort);
    reject(new CurlError('the server closed the connection'));
  });
  if (signal.aborted) abort();
  outgoing.end(request.body ?? undefined);
  return promise;
}

function open(
  { url, method, headers, body }: CurlRequest,
  host: string,
  { refuses, lookups, authority }: HttpCallOptions & { refuses: (address: string) => boolean },
): ClientRequest {
  return (url.protocol === 'https:' ? https : http).request({
    host,
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    method,
    headers: {
      ...headers,
      host: url.host,
      ...(body !== null && { 'content-length': Buffer.byteLength(body) }),
    },
    agent: false,
    lookup: checkedLookup(lookups, refuses),
    maxHeaderSize: headerBytesMax,
    minVersion: 'TLSv1.2' as const,
    // Also where NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    rejectUnauthorized: true,
    ...(isIP(host) === 0 && { servername: host }),
    ...(authority !== undefined && { ca: authority }),
  });
}

/** A look-up that fails if the name has a refused address. The connection uses the checked addresses, so no second look-up can return others. */
const checkedLookup =
  (lookups: Lookups, refuses: (address: string) => boolean): LookupFunction =>
  (name, options, done) =>
    lookups.find(name, (error, addresses) => {
      if (error !== null) return done(error, '', 0);
      const isRefused = addresses.some(({ address }) => refuses(address));
      const [first] = addresses;
      if (isRefused || first === undefined) done(new CurlError(forbiddenText), '', 0);
      else if (options.all) done(null, [...addresses]);
      else done(null, first.address, first.family);
    });

function refusesAddress(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((each) => each.address));
  return isForbidden(address, own);
}

function limitTime(outgoing: ClientRequest, { url, connectMs, totalMs }: CurlRequest, clock: Clock): Timer[] {
  const end = (ms: number, what: string): Timer =>
    clock.after(ms, () => outgoing.destroy(new CurlError(`${what} took more than ${ms / 1000} seconds`)));
  const connecting = end(Math.min(connectMs, totalMs), 'the connection');
  outgoing.on('socket', (socket) =>
    socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => connecting.cancel()),
  );
  return [connecting, end(totalMs, 'the call')];
}

async function collect(
  response: IncomingMessage,
  bytesMax: number,
  countBytes: (bytes: number) => void,
): Promise<HttpReply> {
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400 && response.headers.location !== undefined)
    throw new CurlError('the server redirects to another address, which is not followed');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new CurlError(`the answer has more than ${bytesMax} bytes (result-cap)`);
    countBytes(chunk.length);
    chunks.push(chunk);
  }
  return { status, body: Buffer.concat(chunks) };
}

/** Shows only the error code of a system error, because the messages of Node contain addresses. */
function failureOf(error: Error): CurlError {
  if (error instanceof CurlError) return error;
  const { code } = error as NodeJS.ErrnoException;
  return new CurlError(code === undefined ? 'the connection failed' : `the connection failed: ${code}`);
}
