// Sends one statement to a query service and reads its answer. Integers beyond the precision of a double keep their digits.
import type { ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';
import { jsonWithExactIntegers } from '#base/exact-json.ts';
import { connectionProblem } from '#client/connection-problem.ts';
import { type Clock, realClock } from '#ports/clock.ts';
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

export class QueryError extends Error {
  override name = 'QueryError';
  /** Marks errors whose text says everything: they are reported without a stack. */
  readonly isExplained = true;
}

/** The server that answered is no query service; no statement ran. */
export class NoQueryServiceError extends QueryError {}

const answerBytesMax = 256 * 1024 * 1024;

/** A statement may take hours, but its server answers pings meanwhile: first it gets this time for the answer itself. */
const pingAfterMs = 10_000;
/** A server that does not answer a ping in this time hangs, or cannot be reached any more. */
const pingMs = 20_000;

export interface StatementOptions {
  /** Seconds after which the server ends the statement; absent: by the settings of the server. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** @throws QueryError also when the server stops answering */
export async function sendStatement(
  target: QueryTarget,
  statement: string,
  { timeoutSeconds, signal, clock = realClock }: StatementOptions = {},
): Promise<QueryAnswer> {
  const content = { statement, ...(timeoutSeconds !== undefined && { timeout: `${timeoutSeconds}s` }) };
  const ended = new AbortController();
  const lost = new AbortController();
  const signals = AbortSignal.any([lost.signal, ...(signal === undefined ? [] : [signal])]);
  const watching = whenSilent(target, clock, ended.signal).then(() => lost.abort());
  try {
    const { status, body } = await post(target, JSON.stringify(content), signals);
    return answerIn(target, status, body);
  } catch (error) {
    throw lost.signal.aborted ? new QueryError(silentText(target)) : error;
  } finally {
    ended.abort();
    await watching.catch(() => {}); // the answer ended it
  }
}

const silentText = ({ url }: QueryTarget): string =>
  `--url: ${url} does not answer: not the statement, and no ping for ${pingMs / 1_000} seconds. The statement may have run. ` +
  'See whether the address is right and its node works, and restart a node that hangs';

/** Resolves once the server does not answer a ping. */
async function whenSilent(target: QueryTarget, clock: Clock, ended: AbortSignal): Promise<void> {
  do await clock.sleep(pingAfterMs, ended);
  while (await isAnswered(target, clock, ended));
}

async function isAnswered(target: QueryTarget, clock: Clock, ended: AbortSignal): Promise<boolean> {
  const limit = new AbortController();
  const timer = clock.after(pingMs, () => limit.abort());
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const ping = requestTo(target, '/admin/ping', { signal: AbortSignal.any([limit.signal, ended]) });
  ping.on('error', () => resolve(false));
  ping.on('response', (response) => {
    response.on('error', () => {}); // what it says does not matter
    response.resume();
    resolve(true);
  });
  ping.end();
  const isThere = await promise;
  timer.cancel();
  return isThere;
}

function answerIn(target: QueryTarget, status: number, body: string): QueryAnswer {
  const answer = parsedAnswer(body);
  if (answer !== null) return answer;
  const ErrorClass = status === 404 ? NoQueryServiceError : QueryError;
  throw new ErrorClass(`${target.url} answered ${status} ${body.trim().slice(0, 200)}`.trim());
}

function requestTo(
  { url, authority }: QueryTarget,
  path: string,
  options: RequestOptions & { readonly signal: AbortSignal },
): ClientRequest {
  const address = new URL(url.replace(/\/+$/, '') + path);
  const { request } = address.protocol === 'https:' ? https : http;
  return request(address, {
    agent: false,
    ...(typeof authority === 'string' && { ca: authority }),
    ...options,
  });
}

function post(
  target: QueryTarget,
  content: string,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const { url, username, password } = target;
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const fail = (error: Error): void =>
    reject(
      error instanceof QueryError
        ? error
        : new QueryError(
            signal.aborted
              ? 'the statement was stopped'
              : `--url: cannot reach ${url}: ${connectionProblem(error)}`,
          ),
    );
  const outgoing = requestTo(target, '/query/service', {
    method: 'POST',
    auth: `${username}:${password}`,
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) },
    signal,
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
    const answer = jsonWithExactIntegers(body) as QueryAnswer | null;
    return typeof answer?.status === 'string' ? answer : null;
  } catch {
    return null;
  }
}
