// Answers malformed HTTP requests with an API error and closes the connection.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { repeatsHost } from '#contract/host-header.ts';
import { ApiError } from '../answers/api-error.ts';
import { jsonType } from './json-body.ts';

const errorsByCode: Readonly<Record<string, ApiError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: new ApiError('RequestTimeout', 'the request took too long to arrive'),
  HPE_HEADER_OVERFLOW: new ApiError('HeadersTooLarge', 'the headers of a request have at most 16 KiB'),
};
const malformed = new ApiError('BadRequest', 'this is not an HTTP request');
const expectations = new ApiError('ExpectationFailed', 'expect: must be 100-continue, or be left out');

/** Checks what HTTP/1.1 requires of every request. */
export function requireHost({ headers, httpVersion, rawHeaders }: IncomingMessage): void {
  if (repeatsHost(rawHeaders))
    throw new ApiError('BadRequest', 'host: is given more than once', { connection: 'close' });
  if (headers.host === undefined && httpVersion === '1.1')
    throw new ApiError('BadRequest', 'host: is missing: HTTP/1.1 requires it', { connection: 'close' });
}

export function refuseExpectations(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(expectations.status, headersOf(bodyOf(expectations)));
    response.end(bodyOf(expectations));
  });
}

/** Responses to earlier requests of the connection are sent first. */
export class MalformedRequests {
  private readonly latest = new WeakMap<Socket, ServerResponse>();
  private readonly refused = new WeakSet<Socket>();

  watch(server: Server): void {
    server.on('request', ({ socket }, response) => this.latest.set(socket, response));
  }

  readonly refuse = (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // Ignore further errors of this connection.
    if (this.refused.has(socket)) return;
    this.refused.add(socket);
    const apiError = errorsByCode[error.code ?? ''] ?? malformed;
    const before = this.latest.get(socket);
    if (before === undefined || before.writableFinished || !before.req.complete) end(socket, apiError);
    else before.once('close', () => end(socket, apiError));
  };
}

function end(socket: Socket, apiError: ApiError): void {
  if (!socket.writable) return;
  const body = bodyOf(apiError);
  const headers = Object.entries(headersOf(body)).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${apiError.status} ${apiError.errorType}`, ...headers];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

const bodyOf = (apiError: ApiError): string => JSON.stringify(apiError.body);
const headersOf = (body: string) => ({
  'content-type': jsonType,
  'content-length': Buffer.byteLength(body),
  connection: 'close',
});
