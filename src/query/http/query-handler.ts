// Handles requests on the query ports: routes statements and administration, reads bodies, and writes answers with back-pressure.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { deferred } from '#base/deferred.ts';
import { credentialsOf } from '#http/credentials.ts';
import { crossSiteRefusal } from '#http/cross-site.ts';
import { certificateOf } from '#http/peer-certificates.host.ts';
import type { Clock } from '#ports/clock.ts';
import { markAuthenticated } from '#ports/unauthenticated-sockets.ts';
import { isAuthenticated, type RequestOrigin, senderOf } from '../access/session.ts';
import { answerAdmin } from '../admin/admin.ts';
import type { AnswerSink } from '../answer/answer-writer.ts';
import { errorEntry, statusOf } from '../answer/error-entry.ts';
import type { QueryService } from '../service/query-service.ts';
import { languageVersion } from '../service/request-functions.ts';
import { type KnownOrigin, KnownOrigins } from './known-origins.ts';
import { RequestBodies } from './request-bodies.ts';

/** A client that does not read the answer for this time is disconnected. */
const stalledMs = 120_000;
const adminBytesMax = 1 << 20;
/** Enough for a backup of all functions and libraries that a cluster may have, as JSON. */
const backupBytesMax = 32 << 20;
/** The limit for a statement without credentials in its header; its body may have `creds`. */
const unauthenticatedBytesMax = 1 << 20;
/** The limit of all bodies being read or belonging to running statements. */
const totalBodyBytesMax = 256 << 20;
const contentType = `application/json; version=${languageVersion}`;

export class QueryHandler {
  private readonly service: QueryService;
  private readonly clock: Clock;
  private readonly bodies: RequestBodies;
  private readonly knownOrigins: KnownOrigins;

  constructor(service: QueryService, clock: Clock, bodyBytesMax = totalBodyBytesMax) {
    this.service = service;
    this.clock = clock;
    this.bodies = new RequestBodies(bodyBytesMax);
    this.knownOrigins = new KnownOrigins(service.deps.authority);
  }

  /** Resolves when the whole answer has been written to the response. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', search = ''] = splitAt(request.url ?? '/', '?');
    const refusal =
      request.method === 'GET' ? null : crossSiteRefusal(request.headers, { isProvisioned: true });
    if (refusal !== null) {
      sendText(response, 403, refusal.message);
      return Promise.resolve();
    }
    const isStatement = path === '/query' || path === '/query/service';
    const answer = (origin: KnownOrigin): Promise<void> =>
      isStatement
        ? this.statement(request, response, search, origin)
        : this.admin(request, response, { path, search, origin });
    const known = this.knownOrigins.originOf(request);
    if (known !== null) return answer(known);
    return this.originOf(request).then(answer, (error: unknown) => refuseUnchecked(response, error));
  }

  private statement(
    request: IncomingMessage,
    response: ServerResponse,
    search: string,
    origin: KnownOrigin,
  ): Promise<void> {
    const isLoggedIn = isAuthenticated(origin.sender);
    const { requestBytesMax } = this.service.deps.settings;
    const bytesMax = isLoggedIn ? requestBytesMax : Math.min(requestBytesMax, unauthenticatedBytesMax);
    return this.bodies.with(request, bytesMax, (body) => {
      if (body === null) return undefined;
      if (typeof body === 'string') return refuseBody(response, body, bytesMax);
      const { method = '', headers } = request;
      const httpRequest = {
        method,
        search,
        contentType: headers['content-type'],
        accept: headers.accept,
        body,
      };
      const sink = new ResponseSink(response, this.clock);
      return this.service.answer(httpRequest, origin, sink, (closed) => {
        if (response.destroyed) return closed();
        // The event is emitted once, so `on` suffices. `once` takes longer, since it wraps and removes the listener.
        response.on('close', () => response.writableFinished || closed());
      });
    });
  }

  private async admin(
    request: IncomingMessage,
    response: ServerResponse,
    { path, search, origin }: { path: string; search: string; origin: KnownOrigin },
  ): Promise<void> {
    const isBackup = path.startsWith('/api/v1/') && isAuthenticated(origin.sender);
    const bytesMax = isBackup ? backupBytesMax : adminBytesMax;
    await this.bodies.with(request, bytesMax, async (body) => {
      if (body === null) return;
      if (typeof body === 'string') return refuseBody(response, body, bytesMax);
      if (!isUtf8(body)) return sendText(response, 400, 'body: it must be text in UTF-8\n');
      const adminRequest = { method: request.method ?? '', path, body: body.toString(), search };
      const answer = await answerAdmin(this.service, adminRequest, origin);
      if (answer.status === 401) response.setHeader('www-authenticate', 'Basic realm="Divan"');
      sendText(response, answer.status, answer.text, answer.isText ? 'text/plain' : 'application/json');
    });
  }

  /** Authenticates the sender before the body is read. @throws SqlError when it cannot be checked now */
  private async originOf(request: IncomingMessage): Promise<KnownOrigin> {
    const claimedOrigin = claimedOriginOf(request);
    const { authority } = this.service.deps;
    const { revision } = authority;
    const sender = await senderOf(authority, claimedOrigin);
    const origin = { ...claimedOrigin, sender };
    if (!isAuthenticated(sender)) return origin;
    markAuthenticated(request.socket);
    this.knownOrigins.keep(request, origin, revision);
    return origin;
  }
}

class ResponseSink implements AnswerSink {
  private readonly response: ServerResponse;
  private readonly clock: Clock;
  private status = 0;

  constructor(response: ServerResponse, clock: Clock) {
    this.response = response;
    this.clock = clock;
  }

  begin(status: number): void {
    this.status = status;
  }

  write(text: string): boolean {
    if (!this.response.headersSent) this.response.writeHead(this.status, { 'content-type': contentType });
    return this.response.write(text) || this.response.destroyed;
  }

  async drained(): Promise<void> {
    const { response } = this;
    if (response.destroyed || !response.writableNeedDrain) return;
    const writable = deferred<void>();
    const done = () => writable.resolve();
    response.once('drain', done).once('close', done);
    const timer = this.clock.after(stalledMs, () => response.destroy());
    await writable.promise;
    timer.cancel();
    response.off('drain', done).off('close', done);
  }

  end(text: string): void {
    const { response } = this;
    // A complete answer is sent in one write, with its length.
    if (!response.headersSent)
      response.writeHead(this.status, {
        'content-type': contentType,
        'content-length': Buffer.byteLength(text),
      });
    response.end(text);
    if (response.writableLength === 0) return; // the operating system has all of it
    const timer = this.clock.after(stalledMs, () => response.destroy());
    response.once('close', () => timer.cancel()).once('finish', () => timer.cancel());
  }
}

/** The sender as the request states it, not authenticated. */
function claimedOriginOf(request: IncomingMessage): RequestOrigin {
  const { headers, socket } = request;
  const agent = headers['user-agent'] ?? '';
  const library = headers['cb-user-agent'];
  return {
    credentials: credentialsOf(headers.authorization, certificateOf(socket)),
    remoteAddress: `${socket.remoteAddress ?? ''}:${socket.remotePort ?? 0}`,
    userAgent: library === undefined ? agent : `${agent} (${String(library)})`,
  };
}

/** Answers a request whose sender could not be checked. */
function refuseUnchecked(response: ServerResponse, error: unknown): void {
  const body = JSON.stringify({ errors: [errorEntry(error, false)], status: 'fatal' });
  sendText(response, statusOf(error), body, 'application/json');
}

function refuseBody(response: ServerResponse, problem: 'too large' | 'too many', bytesMax: number): void {
  const [status, text]: [number, string] =
    problem === 'too large'
      ? [413, `The request is larger than ${bytesMax} bytes.\n`]
      : [503, 'Requests that are being read or run take too much memory; try again.\n'];
  sendText(response, status, text);
}

function sendText(response: ServerResponse, status: number, text: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + separator.length)];
}
