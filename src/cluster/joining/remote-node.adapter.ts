// Calls another node over HTTP or HTTPS. Its certificate is not verified: before joining, the nodes have no authority in common. Secrets
// in the call are sealed as well (sealed-exchange.ts).
import type { IncomingMessage, RequestOptions } from 'node:http';
import { demandsCertificate } from '#client/connection-problem.ts';
import { deadline } from '#ports/deadline.ts';
import { http, https } from '#ports/node-http.ts';
import { type RemoteAnswer, type RemoteCall, RemoteError } from './remote-node.ts';
import { shownTarget, type TargetAddress } from './target-address.ts';

const answerBytesMax = 1024 * 1024;

/** A port that the caller gave without a scheme is tried with TLS first. */
export async function callRemote(call: RemoteCall): Promise<RemoteAnswer> {
  const { scheme } = call.target;
  if (scheme !== null) return attempt(call, scheme);
  try {
    return await attempt(call, 'https');
  } catch (error) {
    if (!noTlsCodes.includes((error as { cause?: NodeJS.ErrnoException }).cause?.code ?? '')) throw error;
    return attempt(call, 'http');
  }
}

/** Codes of errors when the other side speaks no TLS: while reading, and while writing. */
const noTlsCodes = ['ERR_SSL_WRONG_VERSION_NUMBER', 'EPROTO'];

function attempt(call: RemoteCall, scheme: 'http' | 'https'): Promise<RemoteAnswer> {
  const { target, path, timeoutMs, signal, localAddress } = call;
  const { promise, resolve, reject } = Promise.withResolvers<RemoteAnswer>();
  const sent = call.content && encoded(call.content);
  const options: RequestOptions & { rejectUnauthorized?: boolean } = {
    host: target.host,
    port: target.port,
    method: sent ? 'POST' : 'GET',
    path,
    agent: false,
    ...(signal && { signal }),
    ...(localAddress !== undefined && { localAddress }),
    headers: {
      ...(sent && { 'content-type': sent.type, 'content-length': Buffer.byteLength(sent.body) }),
      ...(call.user !== '' && { authorization: basic(call.user, call.password) }),
    },
    ...(scheme === 'https' && { rejectUnauthorized: false }),
  };
  const fail = (error: NodeJS.ErrnoException): void =>
    reject(new RemoteError(problemOf(error, { ...target, scheme }), { cause: error }));
  const outgoing = (scheme === 'https' ? https : http).request(options, (response) => {
    const localAddress = response.socket.localAddress ?? '127.0.0.1';
    textOf(response).then((text) => {
      resolve({ status: response.statusCode ?? 0, body: text, localAddress, scheme });
    }, fail);
  });
  deadline({ of: outgoing, limitMs: timeoutMs }, () => {
    fail(Object.assign(new Error(), { code: 'ETIMEDOUT' }));
    outgoing.destroy();
  });
  outgoing.on('error', fail);
  outgoing.end(sent?.body);
  return promise;
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function encoded(content: NonNullable<RemoteCall['content']>): { type: string; body: string } {
  if ('json' in content) return { type: 'application/json', body: JSON.stringify(content.json) };
  return {
    type: 'application/x-www-form-urlencoded',
    body: new URLSearchParams(content.form).toString(),
  };
}

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

function problemOf(error: NodeJS.ErrnoException, target: TargetAddress): string {
  const { code, message } = error;
  const where = shownTarget(target);
  if (demandsCertificate(error))
    return `Failed to connect to ${where}. It demands client certificates; use its port without TLS, http://, or set the state of its /settings/clientCertAuth to "enable" meanwhile.`;
  if (code === 'ETIMEDOUT') return `Timeout connecting to ${where}.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `Failed to resolve address for "${target.host}".  The hostname may be incorrect or not resolvable.`;
  if (noTlsCodes.includes(code ?? ''))
    return `Failed to connect to ${where}. Port ${target.port} of "${target.host}" does not use TLS; give its TLS port, or http://.`;
  const refused = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ECONNRESET'].includes(code ?? '');
  const reason = refused
    ? `Could not connect to "${target.host}" on port ${target.port}.  This could be due to an incorrect host/port combination or a firewall in place between the servers.`
    : message;
  return `Failed to connect to ${where}. ${reason}`;
}
