// A simple client of a node's REST API for first-start set-up, the readiness check and the cloud.
import { deadline } from '#ports/deadline.ts';
import { http, https } from '#ports/node-http.ts';
import type { ClientCertificate } from './wire-address.ts';

export interface RestReply {
  status: number;
  body: string;
  /** The entity tag of what was read. */
  tag?: string | undefined;
}

export interface RestTarget {
  host: string;
  port: number;
  username?: string;
  password?: string;
  /** The local address to connect from, if the node's allowlist admits only that. */
  localAddress?: string | undefined;
  /** Present: the port uses TLS, with a certificate that this authority (PEM) issued; null: one that the machine trusts. */
  authority?: string | null | undefined;
  /** With TLS, in the place of a password. */
  clientCertificate?: ClientCertificate | undefined;
  /** The time within which the answer must be complete. */
  timeoutMs?: number | undefined;
  /** The largest body of an answer. */
  answerBytesMax?: number;
  /** Sent as `If-Match`: the node changes the object only if it still has this entity tag. */
  tag?: string | undefined;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
}

const timeoutMsDefault = 30_000;
/** More than any node answers with all its buckets, scopes and users. */
const answerBytesMaxDefault = 64 << 20;

export type RestFields = Readonly<Record<string, string | number | boolean>>;

/** Form fields, or JSON text. */
export type RestContent = RestFields | string;

export function rest(
  target: RestTarget,
  method: string,
  path: string,
  content?: RestContent,
): Promise<RestReply> {
  const { type, body } = encoded(content);
  const { promise, resolve, reject } = Promise.withResolvers<RestReply>();
  const timeoutMs = target.timeoutMs ?? timeoutMsDefault;
  const outgoing = (target.authority === undefined ? http : https).request({
    host: target.host,
    port: target.port,
    method,
    path,
    agent: false,
    ...(target.signal !== undefined && { signal: target.signal }),
    ...(target.authority !== undefined && { minVersion: 'TLSv1.2' as const }),
    ...(typeof target.authority === 'string' && { ca: target.authority }),
    ...(target.clientCertificate !== undefined && {
      cert: target.clientCertificate.certificate,
      key: target.clientCertificate.key,
    }),
    ...(target.localAddress !== undefined && { localAddress: target.localAddress }),
    headers: {
      ...(target.username !== undefined && { authorization: basic(target.username, target.password ?? '') }),
      ...(target.tag !== undefined && { 'if-match': target.tag }),
      ...(type !== undefined && { 'content-type': type }),
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    },
  });
  deadline({ of: outgoing, limitMs: timeoutMs }, () => {
    reject(new Error(`${method} ${path}: no answer in ${timeoutMs} ms`));
    outgoing.destroy();
  });
  outgoing.on('error', reject);
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = [];
    const bytesMax = target.answerBytesMax ?? answerBytesMaxDefault;
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else response.destroy(new Error(`${method} ${path}: the answer is larger than ${bytesMax} bytes`));
    });
    response.on('error', reject);
    response.on('end', () => {
      const { headers, statusCode = 0 } = response;
      resolve({ status: statusCode, body: Buffer.concat(chunks).toString(), tag: headers.etag });
    });
  });
  outgoing.end(body);
  return promise;
}

/** Like `rest`, but rejects for a status of 300 or above with the text of the response. */
export async function restOk(
  target: RestTarget,
  method: string,
  path: string,
  content?: RestContent,
): Promise<RestReply> {
  const answer = await rest(target, method, path, content);
  if (answer.status < 300) return answer;
  throw refusal(method, path, answer);
}

/** The node's error in one line: refused fields, or its text. */
export function refusal(method: string, path: string, answer: RestReply): Error {
  const fields = Object.entries(refusedFields(answer.body));
  const problems = fields.map(([name, text]) => (name === '_' ? text : `${name}: ${text}`)).join('; ');
  return new Error(`${method} ${path}: ${answer.status} ${problems || answer.body.trim()}`);
}

/** The node's errors by field; `_`: of the whole request. Empty if the response has another form. */
export function refusedFields(body: string): Record<string, string> {
  try {
    const { errors } = JSON.parse(body) as { errors?: Record<string, string> };
    return errors ?? {};
  } catch {
    return {};
  }
}

function encoded(content: RestContent | undefined): { type?: string; body?: string } {
  if (content === undefined) return {};
  if (typeof content === 'string') return { type: 'application/json', body: content };
  return { type: 'application/x-www-form-urlencoded', body: new URLSearchParams(texts(content)).toString() };
}

const texts = (fields: RestFields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));

const basic = (username: string, password: string): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
