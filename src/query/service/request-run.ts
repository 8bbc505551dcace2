// One request from its arrival to the end of its answer: its limits, its place in the service, its transaction and its statement.
import type { Timer } from '#ports/clock.ts';
import { untilAborted } from '#ports/within.ts';
import { type SqlError, sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Datastore, ExecuteContext, Execution } from '#sqlpp/run/engine.ts';
import { checkPrivileges } from '../access/privileges.ts';
import { openSession, type RequestOrigin, type Session } from '../access/session.ts';
import type { AnswerSink } from '../answer/answer-writer.ts';
import { errorEntry } from '../answer/error-entry.ts';
import { RequestCatalog } from '../catalog/request-catalog.ts';
import { checkSingleVector } from '../data/consistency.ts';
import { WireDocuments } from '../data/wire-documents.ts';
import { durationText } from '../request/duration.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { SentRequest } from '../request/read-parameters.ts';
import { type ActiveRequest, newRequest, type RequestState } from '../state/active-requests.ts';
import type { Engine } from '../state/engine-port.ts';
import type { QueryParts } from '../state/parts.ts';
import type { PreparedEntry } from '../state/prepared-cache.ts';
import type { RequestSlices } from '../state/time-slices.ts';
import { AbortableRows } from './abortable-rows.ts';
import { recordEnd } from './ended-request.ts';
import { type ContextParts, executeContext, smallestAboveZero } from './execute-context.ts';
import { enterLimits } from './limited-users.ts';
import { LongPlanning, plansLong } from './long-planning.ts';
import { parametersOf } from './parameter-values.ts';
import { type Chosen, LongPlanNeededError, PlanChooser } from './plan-chooser.ts';
import { readRequest } from './read-request.ts';
import { RequestAnswer } from './request-answer.ts';
import { RequestPlace } from './request-place.ts';
import { RequestTransaction } from './request-transaction.ts';
import { writeRows } from './written-rows.ts';

export interface RunInput {
  readonly sent: SentRequest;
  readonly origin: RequestOrigin;
  readonly sink: AnswerSink;
  readonly whenClosed: WhenClosed;
}

/** Calls `closed` once if the client closes the connection before the answer is complete. */
export type WhenClosed = (closed: () => void) => void;

export class RequestRun {
  private readonly service: QueryParts;
  private readonly input: RunInput;
  private readonly cancellation = new AbortController();
  private readonly active: ActiveRequest;
  private readonly answer: RequestAnswer;
  private timer: Timer | null = null;
  private slices: RequestSlices | null = null;
  private place: RequestPlace | undefined;
  private readonly longPlanning: LongPlanning;
  private rows: AbortableRows | null = null;
  private prepared: PreparedEntry | null = null; // the prepared statement that the request runs
  private justPrepared: PreparedEntry | null = null; // what PREPARE of the request has stored
  private leaveLimits: (resultBytes: number) => void = () => {};

  constructor(service: QueryParts, input: RunInput) {
    const { clock, random } = service.deps;
    this.service = service;
    this.input = input;
    this.active = newRequest({
      id: random.uuid(),
      remoteAddress: input.origin.remoteAddress,
      userAgent: input.origin.userAgent,
      requestTimeMs: clock.wallMs(),
      receivedMs: clock.monotonicMs(),
      cancel: (reason) => this.cancel(reason, 'cancelled'),
    });
    this.longPlanning = new LongPlanning(service, this.cancellation.signal);
    this.answer = new RequestAnswer(service, this.active, input.sink);
    input.whenClosed(() => this.cancel(closedByClient, 'closed'));
  }

  async start(): Promise<void> {
    const { service } = this;
    const link = service.active.add(this.active);
    try {
      await this.run();
    } catch (error) {
      this.fail(error);
    } finally {
      this.timer?.cancel();
      this.longPlanning.end();
      this.leaveLimits(this.answer.writer.bytes);
      service.active.remove(link);
      recordEnd(service, this.active, this.answer, this.prepared);
    }
  }

  private run(): Promise<void> {
    const { service, input } = this;
    service.checkRunning();
    const request = readRequest(service, input.sent, this.cancellation.signal);
    return request instanceof Promise ? request.then((read) => this.open(read)) : this.open(request);
  }

  private open(request: QueryRequest): Promise<void> {
    const { service, input } = this;
    this.active.request = request;
    this.answer.follow(request);
    const session = openSession(service.deps.authority, input.origin, request.credentials);
    return session instanceof Promise
      ? session.then((opened) => this.runFor(opened, request))
      : this.runFor(session, request);
  }

  private runFor(session: Session, request: QueryRequest): Promise<void> {
    const { service, input } = this;
    this.active.users = session.users;
    this.leaveLimits = enterLimits(service.meters, session.callers, input.sent.body.length);
    this.startTimeout(request);
    // A statement that waits for its transaction does not hold a place of the service.
    const entered = RequestTransaction.enter(service, request, session, this.cancellation.signal);
    return entered instanceof Promise
      ? entered.then((transaction) => this.admit(transaction, request, session))
      : this.admit(entered, request, session);
  }

  private async admit(
    namedTransaction: RequestTransaction,
    request: QueryRequest,
    session: Session,
  ): Promise<void> {
    const { service } = this;
    const [user = ''] = session.users;
    const isLong = plansLong(service, request);
    try {
      if (isLong) await this.longPlanning.enterWithPlace(user);
      else if (!service.admission.enterNow(user)) await this.longPlanning.waitForPlace(user);
      this.place = new RequestPlace(service.admission, user, this.cancellation.signal);
      this.slices = service.slices.begin();
      this.cancellation.signal.throwIfAborted();
      this.active.executionStartMs = service.deps.clock.monotonicMs();
      this.active.state = 'running';
      const engine = service.engine instanceof Promise ? await service.engine : service.engine;
      this.answer.engine = engine;
      await this.serve(namedTransaction, engine, request, session);
    } finally {
      this.slices?.end();
      this.place?.end();
      namedTransaction.leave();
    }
  }

  private startTimeout({ timeoutMs }: QueryRequest): void {
    const { deps, timers } = this.service;
    const ms = smallestAboveZero(timeoutMs, deps.settings.timeoutMs);
    if (ms <= 0) return;
    this.timer = timers.after(ms, () => this.cancel(sqlError(1080, durationText(ms)), 'timeout'));
  }

  private cancel(reason: Error, state: RequestState): void {
    if (this.cancellation.signal.aborted) return;
    this.active.state = state;
    this.cancellation.abort(reason);
    this.rows?.abort(reason);
  }

  private serve(
    namedTransaction: RequestTransaction,
    engine: Engine,
    request: QueryRequest,
    session: Session,
  ): Promise<void> {
    const isImplicit = namedTransaction.transaction === null && request.transaction.isImplicit;
    return isImplicit
      ? this.serveImplicit(engine, request, session)
      : this.serveWithin(namedTransaction, engine, request, session);
  }

  private async serveImplicit(engine: Engine, request: QueryRequest, session: Session): Promise<void> {
    const { service } = this;
    const begun = await RequestTransaction.begin(service, request, session, this.cancellation.signal);
    try {
      await this.serveWithin(begun, engine, request, session);
    } finally {
      begun.leave();
    }
  }

  private serveWithin(
    transaction: RequestTransaction,
    engine: Engine,
    request: QueryRequest,
    session: Session,
  ): Promise<void> {
    const { service, answer } = this;
    answer.transaction = transaction;
    const datastore = transaction.datastore(requestDatastore(service, session, this.place));
    const chooser = new PlanChooser(service, engine, datastore, request);
    const run = (chosen: Chosen): Promise<void> =>
      this.runWithin({ transaction, chooser, datastore, session, request }, engine, chosen);
    let chosen: Chosen;
    try {
      chosen = this.choose(chooser);
    } catch (error) {
      return this.chooseLater(chooser, session, error).then(run);
    }
    this.longPlanning.end();
    return run(chosen);
  }

  private runWithin(
    parts: Pick<ContextParts, 'transaction' | 'chooser' | 'datastore' | 'session' | 'request'>,
    engine: Engine,
    chosen: Chosen,
  ): Promise<void> {
    const { service, answer } = this;
    const { request, session } = parts;
    const context = executeContext({
      ...parts,
      service,
      slices: this.slices,
      place: this.place,
      signal: this.cancellation.signal,
      startedMs: this.active.requestTimeMs,
      isProfiled: answer.profileLevel !== 'off',
      onPrepared: (entry) => {
        this.justPrepared = entry;
      },
      parameters: parametersOf(request, chosen.using),
    });
    const isAutoExecuted = request.autoExecute && chosen.prepared.kind === 'PREPARE';
    return isAutoExecuted
      ? this.runPrepared(engine, request, session, chosen, context)
      : this.runChosen(engine, request, session, chosen, context);
  }

  private async runPrepared(
    engine: Engine,
    request: QueryRequest,
    session: Session,
    chosen: Chosen,
    context: ExecuteContext,
  ): Promise<void> {
    const run = await this.prepareNow(engine, session, chosen, context);
    await this.runChosen(engine, request, session, run, context);
  }

  /** Plans a long statement, or finds one that another node has prepared. */
  private async chooseLater(chooser: PlanChooser, session: Session, first: unknown): Promise<Chosen> {
    let error = first;
    let asksOthers = true;
    for (;;) {
      try {
        if (error instanceof LongPlanNeededError) {
          const [user = ''] = session.users;
          const { tookMs } = await this.longPlanning.plan(error.steps(), user, this.slices);
          this.answer.ownMs.plan += tookMs;
        } else if (asksOthers && chooser.mayBeOnOtherNode(error)) {
          if (!(await chooser.prepareFromOthers(this.cancellation.signal))) throw error;
          asksOthers = false;
        } else throw error;
        const chosen = this.choose(chooser);
        this.longPlanning.end();
        return chosen;
      } catch (next) {
        if (next === error) throw error;
        error = next;
      }
    }
  }

  private choose(chooser: PlanChooser): Chosen {
    const { clock } = this.service.deps;
    const startedMs = clock.monotonicMs();
    const chosen = chooser.choose();
    this.answer.ownMs.plan += clock.monotonicMs() - startedMs;
    return chosen;
  }

  /** `auto_execute`: caches the statement that PREPARE prepares and returns it, to run next. */
  private async prepareNow(
    engine: Engine,
    session: Session,
    chosen: Chosen,
    context: ExecuteContext,
  ): Promise<Chosen> {
    checkPrivileges(session.callers, chosen.prepared.privileges);
    for await (const _rows of engine.execute(chosen.prepared, context).rows);
    const entry = this.justPrepared;
    if (entry === null) throw sqlError(4050);
    return { prepared: entry.prepared, entry, shownName: entry.name };
  }

  private runChosen(
    engine: Engine,
    request: QueryRequest,
    session: Session,
    chosen: Chosen,
    context: ExecuteContext,
  ): Promise<void> {
    const { answer } = this;
    const { prepared, entry } = chosen;
    this.prepared = entry;
    this.active.kind = prepared.kind;
    this.active.preparedName = entry?.name ?? null;
    this.active.preparedText = entry?.text ?? null;
    answer.transaction?.check(prepared.kind);
    if (request.isReadonly && !prepared.isReadonly) throw sqlError(1000, readonlyText);
    const { clock } = this.service.deps;
    const checkStartedMs = clock.monotonicMs();
    checkPrivileges(session.callers, prepared.privileges);
    checkSingleVector(request, prepared.keyspaces);
    answer.engineStartedMs = clock.monotonicMs();
    answer.ownMs.authorize = answer.engineStartedMs - checkStartedMs;
    const execution = engine.execute(prepared, context);
    answer.execution = execution;
    this.active.outcome = execution.outcome;
    return this.send(engine, request, chosen, execution);
  }

  private async send(
    engine: Engine,
    request: QueryRequest,
    chosen: Chosen,
    { rows: batches, outcome }: Execution,
  ): Promise<void> {
    const { active, answer } = this;
    const { writer, transaction } = answer;
    const { signal } = this.cancellation;
    const rows = new AbortableRows(batches);
    this.rows = rows;
    let isOpen = false;
    const open = () => {
      if (!isOpen) answer.begin(engine, request, chosen);
      isOpen = true;
    };
    try {
      signal.throwIfAborted();
      for (;;) {
        const next = rows.next();
        if (next instanceof Promise) writer.flushSoon();
        const batch = next instanceof Promise ? await next : next;
        if (batch === null) break;
        if (batch.length === 0) continue;
        open();
        const written = writeRows(batch, { engine, writer, slices: this.slices, signal });
        if (written !== undefined) await written;
        active.rows.count = writer.rows;
        active.rows.bytes = writer.bytes;
        if (!writer.isReady) await untilAborted(signal, writer.ready());
        signal.throwIfAborted();
      }
      if (transaction?.transaction) {
        writer.flushSoon();
        await transaction.end(outcome.errors, this.place, () => this.slices?.pause() ?? Promise.resolve());
      }
      open();
      active.state = 'completed';
      answer.end([...outcome.errors], null);
    } catch (error) {
      if (!isOpen && !signal.aborted) throw error;
      open();
      const reason = this.failureOf(error);
      answer.end([...outcome.errors, reason], reason);
    } finally {
      rows.end();
    }
  }

  private fail(error: unknown): void {
    const { answer, active } = this;
    const { counters, deps } = this.service;
    const reason = this.failureOf(error);
    const isDefect = reason instanceof Error && reason.name !== 'SqlError';
    if (isDefect && errorEntry(reason, false).code === 5000)
      deps.log.error('query.failed', { request: active.id, reason: reason.stack ?? String(reason) });
    if (answer.request === null) counters.add('invalid_requests');
    answer.fail(reason);
  }

  /** Why the request ends: what cancelled it, or else its error. */
  private failureOf(error: unknown): unknown {
    const { signal } = this.cancellation;
    if (signal.aborted) return signal.reason;
    this.active.state = 'fatal';
    return error;
  }
}

const closedByClient: SqlError = sqlError(5011, 'the client closed the connection');
const readonlyText = 'The server or request is read-only and cannot accept this write statement.';

/** Keyspaces of the cluster, documents of the data service, and the catalog as the callers of the request may see it. */
function requestDatastore(service: QueryParts, session: Session, place?: RequestPlace): Datastore {
  const { clients, keyspaces, indexes, indexAdmin } = service.deps;
  return {
    find: (name) => keyspaces.find(name),
    documents: new WireDocuments(clients, place),
    indexes,
    indexAdmin,
    catalog: new RequestCatalog(service, session),
  };
}
