// Requests on the query ports: which are statements, which administration; bodies in, answers out with the socket's back-pressure.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { deferred } from '#base/deferred.ts';
import { credentialsOf } from '#http/credentials.ts';
import { crossSiteProblem } from '#http/cross-site.ts';
import { certificateOf } from '#http/peer-certificates.host.ts';
import type { Clock } from '#ports/clock.ts';
import type { RequestOrigin } from '../access/session.ts';
import { answerAdmin } from '../admin/admin.ts';
import type { AnswerSink } from '../answer/answer-writer.ts';
import type { QueryService } from '../service/query-service.ts';
import { languageVersion } from '../service/request-functions.ts';

/** A client that takes nothing for so long is disconnected. */
const patienceMs = 120_000;
const adminBytesMax = 1 << 20;
const contentType = `application/json; version=${languageVersion}`;

export class QueryHandler {
  private readonly service: QueryService;
  private readonly clock: Clock;

  constructor(service: QueryService, clock: Clock) {
    this.service = service;
    this.clock = clock;
  }

  /** Resolves when the answer has been handed to the socket. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', search = ''] = splitAt(request.url ?? '/', '?');
    const problem =
      request.method === 'GET' ? null : crossSiteProblem(request.headers, { provisioned: true });
    if (problem !== null) return sendText(response, 403, problem);
    if (path === '/query' || path === '/query/service')
      return await this.statement(request, response, search);
    return await this.admin(request, response, path);
  }

  private async statement(request: IncomingMessage, response: ServerResponse, search: string): Promise<void> {
    const closed = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) closed.abort(new Error('the client closed the connection'));
    });
    const body = await readBody(request, this.service.deps.settings.requestBytesMax);
    if (body === null) return;
    if (body === 'too large')
      return sendText(response, 413, 'The request is larger than request-size-cap.\n');
    const { method = '', headers } = request;
    const sent = { method, search, contentType: headers['content-type'], accept: headers.accept, body };
    const sink = new ResponseSink(response, this.clock);
    await this.service.answer(sent, originOf(request), sink, closed.signal);
  }

  private async admin(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const body = await readBody(request, adminBytesMax);
    if (body === null) return;
    if (body === 'too large') return sendText(response, 413, 'The request is larger than 1 MiB.\n');
    const asked = { method: request.method ?? '', path, body: body.toString() };
    const answer = await answerAdmin(this.service, asked, originOf(request));
    if (answer.status === 401) response.setHeader('www-authenticate', 'Basic realm="Divan"');
    sendText(response, answer.status, answer.text, answer.isText ? 'text/plain' : 'application/json');
  }
}

class ResponseSink implements AnswerSink {
  private readonly response: ServerResponse;
  private readonly clock: Clock;

  constructor(response: ServerResponse, clock: Clock) {
    this.response = response;
    this.clock = clock;
  }

  begin(status: number): void {
    this.response.writeHead(status, { 'content-type': contentType });
  }

  write(text: string): boolean {
    return this.response.write(text) || this.response.destroyed;
  }

  async drained(): Promise<void> {
    const { response } = this;
    if (response.destroyed || !response.writableNeedDrain) return;
    const taken = deferred<void>();
    const done = () => taken.resolve();
    response.once('drain', done).once('close', done);
    const timer = this.clock.after(patienceMs, () => response.destroy());
    await taken.promise;
    timer.cancel();
    response.off('drain', done).off('close', done);
  }

  end(text: string): void {
    const { response } = this;
    response.end(text);
    const timer = this.clock.after(patienceMs, () => response.destroy());
    response.once('close', () => timer.cancel()).once('finish', () => timer.cancel());
  }
}

function originOf(request: IncomingMessage): RequestOrigin {
  const { headers, socket } = request;
  const agent = headers['user-agent'] ?? '';
  const library = headers['cb-user-agent'];
  return {
    credentials: credentialsOf(headers.authorization, certificateOf(socket)),
    remoteAddress: `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`,
    userAgent: library === undefined ? agent : `${agent} (${String(library)})`,
  };
}

/** null: the client has gone. */
function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | 'too large' | null> {
  if (request.destroyed) return Promise.resolve(null);
  const body = deferred<Buffer | 'too large' | null>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) return void chunks.push(chunk);
    // What still comes is dropped, so that the client sees the answer.
    request.removeAllListeners('data').resume();
    body.resolve('too large');
  });
  request.once('end', () => body.resolve(Buffer.concat(chunks)));
  request.once('error', () => body.resolve(null)).once('close', () => body.resolve(null));
  return body.promise;
}

function sendText(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function splitAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)];
}
