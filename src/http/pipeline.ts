// The path of every REST request: find the route, check access, check the cluster and bucket that it names, read and
// validate its input, run the handler, answer, log one line.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authority, Caller } from '#auth/authority.ts';
import { UserMeters } from '#auth/user-meters.ts';
import { UnavailableError } from '#base/unavailable-error.ts';
import { UnwritableError } from '#base/unwritable-error.ts';
import { AppError } from '#contract/errors.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import { repeatsHost } from '#contract/host-header.ts';
import type { BoundRoute, Context, Form, Input, Reply, RouteDefinition } from '#contract/route.ts';
import { reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { markAuthenticated } from '#ports/unauthenticated-sockets.ts';
import { type AccessDecision, AccessGate } from './access.ts';
import type { Audit, RequestRefused } from './audit.ts';
import { ClientGoneError, readBody, readsBody } from './body.ts';
import { contextOf, remoteAddress } from './context.ts';
import { type Credentials, claimedName, credentialsOf } from './credentials.ts';
import { crossSiteRefusal } from './cross-site.ts';
import { noRoute, renderError } from './errors.ts';
import { httpRefusals } from './http.refusals.ts';
import { parseTarget, type Target } from './path.ts';
import { certificateOf } from './peer-certificates.host.ts';
import { RequestEnd } from './request-end.ts';
import type { RequestMeter } from './request-meter.ts';
import { type Match, Router } from './router.ts';
import { sendReply } from './send.ts';
import type { Sessions } from './sessions.ts';
import type { Throttle } from './throttle.ts';
import { validate } from './validate.ts';

/** The facts of the cluster that every route depends on. */
export interface ClusterHooks {
  /** Empty before provisioning. */
  clusterUuid(): string;
  /** Null for an unknown bucket. */
  bucketUuid(name: string): string | null | Promise<string | null>;
  /** False where the setting `disableWWWAuthenticate` is on. */
  challenges?(): boolean;
  /** Headers that a setting adds to every answer. */
  responseHeaders?(): Readonly<Record<string, string>>;
  readonly audit?: Audit;
}

export interface PipelineOptions {
  readonly routes: readonly BoundRoute[];
  readonly authority: Authority;
  readonly hooks: ClusterHooks;
  readonly log: Log;
  readonly clock: Clock;
  /** Absent: the number of concurrent requests is not limited. */
  readonly throttle?: Throttle;
  readonly meter?: RequestMeter;
  /** Absent: only the Authorization header and certificates identify callers. */
  readonly sessions?: Pick<Sessions, 'authorizationOf' | 'end'>;
  /**
   * True: a user without roles gets 403, like a user without the permission, and may use routes that are open to every authenticated user.
   * False: 401, like an unknown user.
   */
  readonly forbidsRoleless?: boolean;
}

/** One request in progress. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly target: Target;
  readonly out: ServerResponse;
  readonly end: RequestEnd;
  route: string;
  path: string | null;
  user: string;
  caller: Caller | null;
  /** Absent for callers without limits. */
  traffic?: Traffic;
}

/** Counts what a user with limits sends and gets. */
interface Traffic {
  received(bytes: number): void;
  sent(bytes: number): void;
}

/** The authenticated caller, and whether an administrator existed then. */
interface Admission {
  readonly caller: Caller;
  readonly isProvisioned: boolean;
}

/** The input of a request; `raw` is its body before validation. */
interface Sent {
  readonly raw: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #router: Router;
  readonly #gate: AccessGate;
  readonly #open = new Set<RequestEnd>();
  readonly #meters: UserMeters;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#router = new Router(options.routes);
    this.#meters = new UserMeters(options.clock);
    this.#gate = new AccessGate(
      options.authority,
      options.routes.map((bound) => bound.route),
      options.forbidsRoleless,
    );
  }

  async serve(request: IncomingMessage, out: ServerResponse): Promise<void> {
    const startedMs = this.#options.clock.monotonicMs();
    const end = new RequestEnd();
    const target = parseTarget(request.url ?? '/');
    const exchange: Exchange = {
      request,
      target,
      end,
      route: 'none',
      path: null,
      user: '',
      caller: null,
      out,
    };
    // Either the refusal of the request, or a function to call when the request is over.
    const entered = this.#options.throttle?.enter(target) ?? doNothing;
    this.#open.add(end);
    this.#options.meter?.started();
    out.once('close', () => {
      this.#options.meter?.ended();
      this.#open.delete(end);
      end.end();
      if (typeof entered === 'function') entered();
    });
    const answer = typeof entered === 'function' ? await this.#answer(exchange) : entered;
    if (answer) this.#send(exchange, out, answer);
    else out.destroy();
    const milliseconds = this.#options.clock.monotonicMs() - startedMs;
    this.#meter(exchange, out.statusCode, milliseconds);
    this.#logLine(exchange, out, milliseconds);
  }

  /** Closes the connection after a failure while answering: nothing more can be sent to the client. */
  abandon(out: ServerResponse, error: unknown): void {
    this.#options.log.error('request.lost', { message: String(error) });
    out.destroy();
  }

  #send(exchange: Exchange, out: ServerResponse, answer: Reply): void {
    const headers = this.#options.hooks.responseHeaders?.() ?? {};
    const sent = exchange.traffic?.sent ?? doNothing;
    const options = { end: exchange.end, headers, sent };
    if (answer.kind === 'stream') this.#endWhenAccessChanges(exchange, out);
    try {
      sendReply(out, answer, options);
    } catch (error) {
      // A value that JSON cannot represent: nothing of the answer has been sent yet.
      sendReply(out, this.#failed(exchange, error), options);
    }
  }

  /** A stream ends when the account or the roles of its caller change: clients that still have access request it again. */
  #endWhenAccessChanges({ caller, end }: Exchange, out: ServerResponse): void {
    if (caller === null) return;
    const watching = this.#options.authority.whenChanged?.(caller, () => end.end());
    out.once('close', () => watching?.stop());
  }

  /** Ends every open stream and aborts the signals of running handlers. */
  abortAll(): void {
    for (const end of this.#open) end.end();
  }

  /** Null when the client has closed the connection. */
  async #answer(exchange: Exchange): Promise<Reply | null> {
    try {
      return await this.#route(exchange);
    } catch (error) {
      if (error instanceof AppError) return renderError(error);
      if (error instanceof ClientGoneError) return null;
      return this.#failed(exchange, error);
    }
  }

  #failed(exchange: Exchange, error: unknown): Reply {
    const details =
      error instanceof Error ? { message: error.message, stack: error.stack } : { message: String(error) };
    this.#options.log.error('request.failed', { route: exchange.route, ...details });
    if (error instanceof UnavailableError)
      return renderError(httpRefusals.unavailable({ reason: error.message }));
    if (error instanceof UnwritableError)
      return renderError(httpRefusals.unwritable({ reason: error.message }));
    return renderError(httpRefusals.unexpected());
  }

  async #route(exchange: Exchange): Promise<Reply> {
    const { request, target } = exchange;
    if (repeatsHost(request.rawHeaders)) throw httpRefusals.repeatedHost();
    if (!target.tokens) throw httpRefusals.malformedPath();
    const match = this.#router.match(request.method ?? '', target.tokens);
    if (!match) throw noRoute(request.method ?? '');
    exchange.route = match.bound.route.id;
    exchange.path = match.bound.route.path;
    return await this.#guard(exchange, match);
  }

  async #guard(exchange: Exchange, match: Match): Promise<Reply> {
    const { request } = exchange;
    const { route } = match.bound;
    const isProvisioned = this.#options.authority.isProvisioned();
    const crossSite = route.method === 'GET' ? null : crossSiteRefusal(request.headers, { isProvisioned });
    if (crossSite !== null) throw crossSite;
    const endSession = this.#useSession(request);
    let admission = await this.#admit(exchange, match);
    if (admission === null) {
      endSession();
      throw this.#unauthenticated(request);
    }
    this.#limit(exchange, route, admission.caller);
    await this.#checkTarget(exchange, match);
    const sent = await this.#read(exchange, match);
    // The client decides how long its body takes: its account may have changed meanwhile.
    while (this.#isOutdated(admission)) {
      admission = await this.#admit(exchange, match);
      if (admission === null) throw this.#unauthenticated(request);
    }
    const { caller, isProvisioned: wasProvisioned } = admission;
    const context = contextOf(request, caller, { isProvisioned: wasProvisioned, end: exchange.end });
    return await this.#run(exchange, match, context, sent);
  }

  /** Adds the Authorization header of the caller's session. Returns a function that ends the session, if one was used. */
  #useSession(request: IncomingMessage): () => void {
    const { headers, socket } = request;
    if (headers.authorization !== undefined || headers.cookie === undefined) return doNothing;
    const from = { headers, port: socket.localPort ?? 0 };
    const authorization = this.#options.sessions?.authorizationOf(from) ?? null;
    if (authorization === null) return doNothing;
    headers.authorization = authorization;
    return () => this.#options.sessions?.end(from);
  }

  /** For a user with limits: counts the request until it has been answered, and the bytes of the request and of the answer. */
  #limit(exchange: Exchange, route: RouteDefinition, { identity: { name }, limits }: Caller): void {
    const { request, end } = exchange;
    const serviceLimits = limits?.clusterManager;
    if (serviceLimits === undefined || end.isOver) return;
    const declaredBytes = request.headers['content-length'];
    const reached = this.#meters.enter(name, serviceLimits, Number(declaredBytes ?? 0));
    if (reached.length > 0) throw generalRefusals.limitsExceeded({ limits: reached.join(',') });
    end.signal.addEventListener('abort', () => this.#meters.leave(name, 0));
    const received = (bytes: number) => {
      if (declaredBytes === undefined) this.#meters.received(name, bytes);
    };
    exchange.traffic = { received, sent: (bytes) => this.#meters.sent(name, bytes) };
    // The bytes of a body count also if the route ignores the body.
    if (!readsBody(route)) request.on('data', (chunk: Buffer) => received(chunk.length));
  }

  /** Null if the route needs usable credentials and the request has none. */
  async #admit(exchange: Exchange, { bound: { route }, params }: Match): Promise<Admission | null> {
    const { request } = exchange;
    const isProvisioned = this.#options.authority.isProvisioned();
    const credentials = credentialsOf(request.headers.authorization, certificateOf(request.socket));
    const onBehalfOf = request.headers['cb-on-behalf-of']?.toString();
    const decision = await this.#gate.decide(route, params, credentials, remoteAddress(request), onBehalfOf);
    exchange.caller = decision.caller;
    exchange.user = decision.caller?.identity.name ?? '';
    if (decision.caller && decision.caller.identity.domain !== 'anonymous') markAuthenticated(request.socket);
    if (decision.kind !== 'passed') this.#reportRefusal(exchange, route, decision, credentials);
    if (decision.kind === 'unauthenticated') return null;
    if (decision.kind === 'forbidden') throw generalRefusals.forbidden([decision.permission]);
    return { caller: decision.caller, isProvisioned };
  }

  /** Whether the first administrator was created since, or the caller's account was deleted or its credentials or roles changed. */
  #isOutdated({ caller, isProvisioned }: Admission): boolean {
    const { authority } = this.#options;
    if (authority.isProvisioned() !== isProvisioned) return true;
    return caller.identity.domain !== 'anonymous' && authority.hasChanged?.(caller) === true;
  }

  #unauthenticated({ headers }: IncomingMessage): AppError {
    const challenges =
      headers['invalid-auth-response'] !== 'on' && (this.#options.hooks.challenges?.() ?? true);
    return challenges ? httpRefusals.challenged() : httpRefusals.unauthenticated();
  }

  /** A request can name the cluster and the bucket by uuid; a replaced one is not found. */
  async #checkTarget(exchange: Exchange, match: Match): Promise<void> {
    const { query } = exchange.target;
    const { hooks } = this.#options;
    const bucket = match.params['bucket'];
    const isSection = match.bound.route.acceptsSections && bucket?.startsWith('@');
    if (bucket !== undefined && !isSection) {
      const uuid = await hooks.bucketUuid(bucket);
      if (uuid === null) throw generalRefusals.notFound();
      if ('bucket_uuid' in query && query['bucket_uuid'] !== uuid) throw httpRefusals.otherBucket();
    }
    if (match.bound.route.access.kind === 'anyone' || !('uuid' in query)) return;
    if (query['uuid'] !== hooks.clusterUuid()) throw httpRefusals.otherCluster();
  }

  async #read({ request, target, traffic }: Exchange, { bound: { route } }: Match): Promise<Sent> {
    const raw = await readBody(route, request, traffic?.received);
    const query = route.query ? await validate(route.query, target.query) : (target.query as Form);
    return { raw, query, body: route.body ? await validate(route.body, raw) : raw };
  }

  async #run(exchange: Exchange, match: Match, context: Context, { raw, query, body }: Sent): Promise<Reply> {
    const { route, handler } = match.bound;
    const justValidate = route.acceptsJustValidate === true && exchange.target.query['just_validate'] === '1';
    const input = { params: match.params, query, body, justValidate } as Input<never, never>;
    const answer = await handler(input, context);
    this.#reportChange(exchange, match, context, { body: raw, answer });
    const isValidated = justValidate && answer.kind !== 'stream' && answer.status === 200;
    return isValidated ? reply.json({ errors: {} }) : answer;
  }

  /** Does not report a request without credentials: a client sends one to receive the challenge, which is no failed login. */
  #reportRefusal(
    exchange: Exchange,
    route: RouteDefinition,
    decision: AccessDecision,
    credentials: Credentials,
  ): void {
    const user = claimedName(credentials);
    if (user === null) return;
    this.#options.hooks.audit?.refused({
      reason: decision.kind === 'forbidden' ? 'permission' : 'credentials',
      user,
      ...identitiesOf(decision.caller),
      remoteAddress: remoteAddress(exchange.request),
      route,
    });
  }

  #reportChange(
    exchange: Exchange,
    { bound: { route } }: Match,
    context: Context,
    { body, answer }: { body: unknown; answer: Reply },
  ): void {
    const { path, query } = exchange.target;
    const onlyValidated = route.acceptsJustValidate !== undefined && query['just_validate'] === '1';
    const failed = answer.kind === 'stream' || answer.status >= 400;
    if (route.method === 'GET' || route.changesNothing || onlyValidated || failed) return;
    const { identity, isTls } = context;
    const { sender } = exchange.caller ?? {};
    const from = { identity, isTls, remoteAddress: context.remoteAddress, ...(sender && { sender }) };
    const auditedBody = route.hasUserData ? undefined : body;
    this.#options.hooks.audit?.changed({ route, path, query, body: auditedBody, ...from });
  }

  #meter({ request, path }: Exchange, status: number, milliseconds: number): void {
    const scheme = 'encrypted' in request.socket ? 'https' : 'http';
    this.#options.meter?.answered({ path, method: request.method ?? '', status, scheme, milliseconds });
  }

  #logLine(exchange: Exchange, out: ServerResponse, milliseconds: number): void {
    const status = out.statusCode;
    // 503 and 501 are no failures of this server: a configured limit was reached, or this version does not have the feature.
    const isServerFailure = status >= 500 && status !== 503 && status !== 501;
    const level = isServerFailure ? 'error' : status >= 400 ? 'warn' : 'debug';
    this.#options.log[level]('request', {
      route: exchange.route,
      method: exchange.request.method,
      path: exchange.target.path,
      status,
      user: exchange.user,
      from: remoteAddress(exchange.request),
      ms: Math.round(milliseconds * 10) / 10,
    });
  }
}

/** Empty unless the sender was authenticated. */
function identitiesOf(caller: Caller | null): Pick<RequestRefused, 'sender' | 'effective'> {
  if (caller === null || caller.identity.domain === 'anonymous') return {};
  const { identity, sender } = caller;
  return sender === undefined ? { sender: identity } : { sender, effective: identity };
}

const doNothing = (): void => {};
