// The HTTP server of the cloud: one pipeline for all operations checks the credentials, finds the object of the path, checks the
// permission, then validates query and body. Every refusal is an ApiError.
import { hostname } from 'node:os';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { plainAddress } from '#base/address.ts';
import { urlHost } from '#base/host-and-port.ts';
import { loadedOnce } from '#base/loaded-once.ts';
import { UnavailableError } from '#base/unavailable-error.ts';
import { UnwritableError } from '#base/unwritable-error.ts';
import { readConsoleFile } from '#console/console-files.adapter.ts';
import { ConsoleSite } from '#console/console-site.ts';
import { manualImage, manualSite } from '#manual/site.ts';
import type { Clock } from '#ports/clock.ts';
import type { DiskReserve } from '#ports/disk-reserve.ts';
import { handleShares } from '#ports/handles.ts';
import type { Log } from '#ports/log.ts';
import { markAuthenticated, UnauthenticatedSockets } from '#ports/unauthenticated-sockets.ts';
import type { AuthenticatedCaller } from '../access/authenticator.ts';
import type { Caller } from '../access/caller.ts';
import type { Subject, SubjectKind } from '../access/subjects.ts';
import { ApiError, invalid, notFound } from '../answers/api-error.ts';
import { withDiskReserve } from '../store/with-disk-reserve.ts';
import { AnswerCache, type CacheKey } from './answer-cache.ts';
import { acceptJsonOnly, jsonType } from './json-body.ts';
import { MalformedRequests, refuseExpectations, requireHost } from './malformed.ts';
import type { BoundOperation, Operation, Reply, Request } from './operation.ts';
import { requireNamedProject, requireRole, requireSubject } from './permission.ts';
import { problemsOf } from './problems.ts';

const bodyLimitBytes = 1024 * 1024;
const requestTimeoutMs = 30_000;
const timeoutCheckMs = 1_000;
/** Enough for a name of 128 characters, each of which has up to twelve when it is percent-encoded. */
const paramLengthMax = 2_048;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const connectionsMax = handleShares().rest;
/** Limits the connections of clients that have sent no valid credentials. */
const unauthenticated = new UnauthenticatedSockets(() => ({ perSource: 512, total: connectionsMax / 2 }));

export interface ApiOptions {
  operations: readonly BoundOperation[];
  /** Throws an ApiError if the request has no valid credentials. */
  authenticate(request: FastifyRequest): Promise<AuthenticatedCaller>;
  /** Called once the body has arrived. Throws an ApiError if the caller has lost the credentials since. */
  authenticateAgain?(request: FastifyRequest, caller: AuthenticatedCaller): Promise<void>;
  /** Finds the object that an id in a path names. */
  find(kind: SubjectKind, id: string): Promise<Subject | undefined>;
  clock: Clock;
  log: Log;
  diskReserve?: DiskReserve;
  /** The base URL for clients; absent: links use the local address of the connection. */
  publicUrl?: string | undefined;
  /** Time limit for receiving a request. */
  requestTimeoutMs?: number;
}

export function createApi(options: ApiOptions): FastifyInstance {
  const receiveTimeoutMs = options.requestTimeoutMs ?? requestTimeoutMs;
  const refusals = new MalformedRequests();
  const app = Fastify({
    bodyLimit: bodyLimitBytes,
    requestTimeout: receiveTimeoutMs,
    http: {
      headersTimeout: receiveTimeoutMs,
      connectionsCheckingInterval: Math.min(timeoutCheckMs, receiveTimeoutMs),
      // `requireHost` checks the header below, with an error that names it.
      requireHostHeader: false,
    },
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: paramLengthMax },
    forceCloseConnections: 'idle',
    clientErrorHandler: refusals.refuse,
    // Called for a path that cannot be decoded or has too long a parameter.
    frameworkErrors: (_error, request, reply) => refuse(reply as FastifyReply, pathNotFound(request.url)),
  });
  refusals.watch(app.server);
  refuseExpectations(app.server);
  app.server.maxConnections = connectionsMax;
  app.server.on('connection', (socket) => unauthenticated.enter(socket));
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    requireHost(raw);
    done();
  });
  acceptJsonOnly(app);
  app.setErrorHandler((error, _request, reply) => refuse(reply, apiErrorOf(error as Error, options.log)));
  app.setNotFoundHandler((request, reply) => refuse(reply, unrouted(request, options.operations)));
  app.decorateRequest('sender', null);
  app.decorateRequest('subject', undefined);
  const cache = new AnswerCache();
  for (const bound of options.operations) addRoute(app, bound, { ...options, cache });
  addDescription(
    app,
    options.operations.map(({ operation }) => operation),
  );
  addManual(app, options.clock);
  addConsole(app);
  return app;
}

/** Serves the OpenAPI document, which is built on first use. */
function addDescription(app: FastifyInstance, operations: readonly Operation[]): void {
  const texts = loadedOnce(async () => {
    const [{ describeApi }, { ApiTexts }] = await Promise.all([
      import('./openapi.ts'),
      import('#contract/api-texts.ts'),
    ]);
    return new ApiTexts(describeApi(operations));
  });
  app.get('/openapi.json', async (_request, reply) => sendJson(reply, (await texts()).json));
  app.get('/docs/api', async (_request, reply) => {
    const { contentPolicy, page } = await texts();
    reply.headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': contentPolicy });
    return page;
  });
}

function addManual(app: FastifyInstance, clock: Clock): void {
  const site = manualSite(clock);
  const show = async (reply: FastifyReply, path: string, query: unknown): Promise<string> => {
    const { html, status, headers } = await site(path, typeof query === 'string' ? query : '');
    reply.status(status).headers(headers);
    return html;
  };
  app.get('/docs', (_request, reply) => show(reply, '', ''));
  app.get<{ Params: { image: string } }>('/docs/images/:image', async ({ params }, reply) => {
    const image = await manualImage(params.image);
    return image === null ? show(reply, 'images', '') : reply.headers(image.headers).send(image.bytes);
  });
  app.get<{ Params: { '*': string }; Querystring: { q?: unknown } }>('/docs/*', ({ params, query }, reply) =>
    show(reply, params['*'], query.q),
  );
}

/** Public files; the console asks for a token, and shows answers of the API. */
function addConsole(app: FastifyInstance): void {
  const site = new ConsoleSite(readConsoleFile);
  const accepted = ({ headers }: FastifyRequest): string => String(headers['accept-encoding']);
  app.get('/', async (request, reply) => {
    const answer = await site.page('cloud', accepted(request));
    if (answer === null)
      throw notFound('the console is not built: run "npm run build:console" in the checkout');
    return reply.headers(answer.headers).send(answer.bytes);
  });
  app.get<{ Params: { file: string } }>('/ui/assets/:file', async (request, reply) => {
    const answer = await site.asset(request.params.file, accepted(request));
    if (answer === null) throw pathNotFound(request.url);
    return reply.headers(answer.headers).send(answer.bytes);
  });
}

function addRoute(
  app: FastifyInstance,
  { operation, handle }: BoundOperation,
  {
    authenticate,
    authenticateAgain,
    find,
    cache,
    diskReserve,
    publicUrl,
  }: ApiOptions & { cache: AnswerCache },
): void {
  const answer = async (request: FastifyRequest): Promise<Reply> => {
    if (operation.body !== undefined && request.sender !== null)
      await authenticateAgain?.(request, request.sender);
    const act = async (): Promise<Reply> => handle(readRequest(operation, request, publicUrl));
    return operation.method === 'DELETE' ? withDiskReserve(diskReserve, act) : act();
  };
  const cacheKeyOf = (request: FastifyRequest): CacheKey => ({
    ...(request.sender as AuthenticatedCaller),
    origin: originOf(request, publicUrl),
    url: request.url,
  });
  // The cache key includes what the caller may see, so a cached answer needs no check of permissions.
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    request.sender = await authenticate(request);
    markAuthenticated(request.raw.socket);
    const text = operation.fromStore && cache.find(cacheKeyOf(request));
    if (text !== undefined) return sendJson(reply, text);
    requireRole(operation, request.sender.caller);
    request.subject = await subjectOf(operation, request, find);
    return undefined;
  };
  app.route({
    method: operation.method,
    url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    // Before the body is read, so that a caller without permission need not send it.
    ...(operation.access === 'token' && { onRequest: admit }),
    handler: operation.fromStore
      ? async (request, reply) =>
          sendJson(reply, await cache.getOrCompute(cacheKeyOf(request), () => answer(request)))
      : async (request, reply) => send(reply, await answer(request)),
  });
}

function send(reply: FastifyReply, { status, headers, body }: Reply): FastifyReply {
  if (headers !== undefined) reply.headers(headers);
  reply.code(status);
  return body === undefined ? reply.send() : sendJson(reply, JSON.stringify(body));
}

async function subjectOf(
  operation: Operation,
  request: FastifyRequest,
  find: ApiOptions['find'],
): Promise<Subject | undefined> {
  const params = request.params as Record<string, string>;
  if (Object.values(params).some((value) => value === '' || value.includes('\0')))
    throw pathNotFound(request.url);
  const idParameter = params['id'];
  if (idParameter !== undefined && !uuid.test(idParameter)) throw malformedId(operation, idParameter);
  const id = idParameter?.toLowerCase();
  if (id !== undefined) params['id'] = id;
  if (id === undefined || operation.subject === undefined) return undefined;
  const subject = await find(operation.subject, id);
  requireSubject(operation, request.sender?.caller as Caller, `${operation.subject} ${id}`, subject);
  return subject;
}

function readRequest(operation: Operation, request: FastifyRequest, publicUrl: string | undefined): Request {
  const caller = request.sender?.caller as Caller;
  if (operation.access === 'token') requireNamedProject(operation, caller, request.body);
  return {
    params: request.params as Record<string, string>,
    query:
      operation.query === undefined ? undefined : parse(operation.query, request.query, 'query parameter'),
    body: operation.body === undefined ? undefined : parse(operation.body, request.body, 'field'),
    caller,
    subject: request.subject,
    get url() {
      return urlOf(request, publicUrl);
    },
    address: plainAddress(request.raw.socket.remoteAddress ?? ''),
  };
}

const urlOf = (request: FastifyRequest, publicUrl: string | undefined): URL =>
  new URL(`${originOf(request, publicUrl)}${request.url.replace(/^[a-z]+:\/\/[^/]*/i, '')}`);

/**
 * What the URLs in answers begin with. The Host header is not trusted, unless it names this machine with the port of the
 * connection.
 */
function originOf({ protocol, host, raw }: FastifyRequest, publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '');
  const { localAddress = '127.0.0.1', localPort = 80 } = raw.socket;
  const address = plainAddress(localAddress);
  const ownHost = `${urlHost(address)}:${localPort}`;
  const isOwn =
    host === ownHost || host === `localhost:${localPort}` || host === `${hostname()}:${localPort}`;
  return `${protocol}://${isOwn ? host : ownHost}`;
}

function malformedId(operation: Operation, id: string): ApiError {
  if (operation.malformedId === 422) return invalid(`id: "${id}" is not a uuid`);
  return notFound(`there is no such resource: "${id}" is not a uuid`);
}

/** All problems, one sentence per field. */
function parse(schema: z.ZodType, value: unknown, kind: string): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(problemsOf(parsed.error.issues, value, kind));
}

function apiErrorOf(error: Error & { code?: string; statusCode?: number }, log: Log): ApiError {
  if (error instanceof ApiError) return error;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError('PayloadTooLarge', `a body has at most ${bodyLimitBytes} bytes`, {
      connection: 'close',
    });
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return invalid('content-type: must be application/json');
  if (error.statusCode !== undefined && error.statusCode < 500) return invalid(`body: ${error.message}`);
  // The messages of the next two errors are shown to the caller: the change may succeed later.
  if (error instanceof UnavailableError)
    return new ApiError('InternalServerError', `${error.message}; try again`);
  if (error instanceof UnwritableError)
    return new ApiError('InternalServerError', `nothing was changed: ${error.message}`);
  log.error('request.failed', { reason: error.message, stack: error.stack });
  return new ApiError('InternalServerError', 'the request failed; the log of the cloud says why');
}

const refuse = (reply: FastifyReply, apiError: ApiError): FastifyReply =>
  sendJson(reply.code(apiError.status).headers(apiError.headers), JSON.stringify(apiError.body));

/** Bypasses the framework's serializer, which would add a charset. Sends a string: bytes would be written separately from the headers. */
const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  reply.header('content-type', jsonType).serializer(unchanged).send(text);

const unchanged = (text: string): string => text;

/** 405 with the allowed methods if the path has any, else 404. */
function unrouted(request: FastifyRequest, operations: readonly BoundOperation[]): ApiError {
  const path = request.url.split('?')[0] as string;
  const methods = operations
    .filter(({ operation }) => matches(operation.path, path))
    .map(({ operation }) => operation.method);
  if (methods.length === 0) return pathNotFound(path);
  return new ApiError('MethodNotAllowed', `${path} accepts ${methods.join(', ')}`, {
    allow: methods.join(', '),
  });
}

const pathNotFound = (path: string): ApiError =>
  notFound(`there is no ${path.split('?')[0]}; see /docs/api for the paths there are`);

function matches(pattern: string, path: string): boolean {
  const [patternParts, sentParts] = [pattern.split('/'), path.split('/')];
  return (
    patternParts.length === sentParts.length &&
    patternParts.every((part, i) => (part.startsWith('{') ? sentParts[i] !== '' : part === sentParts[i]))
  );
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The authenticated sender; null before authentication and on public routes. */
    sender: AuthenticatedCaller | null;
    /** The object that the path names. */
    subject: Subject | undefined;
  }
}
