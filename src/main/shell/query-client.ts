// Sends one statement to a query service and reads its answer. Integers beyond the precision of a double keep their digits.
import { rawJson } from '#base/exact-json.ts';
import { connectionProblem } from '#client/connection-problem.ts';
import { http, https } from '#ports/node-http.ts';

export interface QueryNotice {
  readonly code: number;
  readonly msg: string;
}

export interface QueryAnswer {
  readonly status: string;
  readonly results?: readonly unknown[];
  readonly errors?: readonly QueryNotice[];
  readonly warnings?: readonly QueryNotice[];
  readonly metrics?: { readonly elapsedTime?: string; readonly mutationCount?: number };
}

export interface QueryTarget {
  readonly url: string;
  readonly username: string;
  readonly password: string;
  /** For https: the trusted authority (PEM); null: the authorities that the machine trusts. */
  readonly authority: string | null | undefined;
}

/** Printed without a stack. */
export class QueryError extends Error {
  override name = 'QueryError';
  readonly explained = true;
}

/** The server that answered is no query service; no statement ran. */
export class NoQueryServiceError extends QueryError {}

const answerBytesMax = 256 * 1024 * 1024;

export async function sendStatement(
  target: QueryTarget,
  statement: string,
  signal?: AbortSignal,
): Promise<QueryAnswer> {
  const { status, body } = await post(target, JSON.stringify({ statement }), signal);
  const answer = parsedAnswer(body);
  if (answer !== null) return answer;
  const ErrorClass = status === 404 ? NoQueryServiceError : QueryError;
  throw new ErrorClass(`${target.url} answered ${status} ${body.trim().slice(0, 200)}`.trim());
}

function post(
  { url, username, password, authority }: QueryTarget,
  content: string,
  signal: AbortSignal | undefined,
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const address = new URL(`${url.replace(/\/+$/, '')}/query/service`);
  const { request } = address.protocol === 'https:' ? https : http;
  const fail = (error: Error): void =>
    reject(
      error instanceof QueryError
        ? error
        : new QueryError(
            signal?.aborted
              ? 'the statement was stopped'
              : `--url: cannot reach ${url}: ${connectionProblem(error)}`,
          ),
    );
  const outgoing = request(address, {
    method: 'POST',
    agent: false,
    ...(typeof authority === 'string' && { ca: authority }),
    auth: `${username}:${password}`,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) },
    ...(signal && { signal }),
  });
  outgoing.on('error', fail);
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > answerBytesMax)
        response.destroy(
          new QueryError('the answer has more than 256 MiB; read it in parts with LIMIT and OFFSET'),
        );
    });
    response.on('error', fail);
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
    );
  });
  outgoing.end(content);
  return promise;
}

function parsedAnswer(body: string): QueryAnswer | null {
  try {
    const answer = JSON.parse(
      body,
      exactly as (key: string, value: unknown) => unknown,
    ) as QueryAnswer | null;
    return typeof answer?.status === 'string' ? answer : null;
  } catch {
    return null;
  }
}

const exactly = (_key: string, value: unknown, { source }: { source?: string }): unknown =>
  typeof value === 'number' && source !== undefined && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? rawJson(source)
    : value;
