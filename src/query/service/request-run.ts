// One request from its parameters to the last byte of its answer.
import type { Timer } from '#ports/clock.ts';
import { type SqlError, sqlError, sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { ExecuteContext, Execution } from '#sqlpp/run/engine.ts';
import { checkPrivileges } from '../access/privileges.ts';
import { openSession, type RequestOrigin, type Session } from '../access/session.ts';
import { type AnswerSink, AnswerWriter } from '../answer/answer-writer.ts';
import { type ErrorEntry, errorEntry, statusOf } from '../answer/error-entry.ts';
import { checkSingleVector } from '../data/consistency.ts';
import { durationText } from '../request/duration.ts';
import type { QueryRequest } from '../request/query-request.ts';
import { readParameters, type SentRequest } from '../request/read-parameters.ts';
import { type ActiveRequest, newRequest, type RequestState } from '../state/active-requests.ts';
import type { Engine } from '../state/engine-port.ts';
import type { QueryParts } from '../state/parts.ts';
import { countUse, type PreparedEntry } from '../state/prepared-cache.ts';
import type { RequestSlices } from '../state/time-slices.ts';
import { AbortableRows } from './abortable-rows.ts';
import { controlsText, metricsText, signatureText, statusWithFailedRows } from './answer-figures.ts';
import { executeContext } from './execute-context.ts';
import { enterLimits } from './limited-users.ts';
import { profileOf } from './profile.ts';
import { requestDatastore } from './request-datastore.ts';
import { RequestTransaction } from './request-transaction.ts';
import { auditStatement } from './statement-audit.ts';
import { type Chosen, StatementChoice } from './statement-choice.ts';
import { parametersOf } from './using.ts';

export interface RunInput {
  readonly sent: SentRequest;
  readonly origin: RequestOrigin;
  readonly sink: AnswerSink;
  readonly whenClosed: WhenClosed;
}

/** Calls `closed` once if the client closes the connection before the answer is complete. */
export type WhenClosed = (closed: () => void) => void;

const states: Readonly<Record<RequestState, string>> = {
  submitted: 'running',
  running: 'running',
  cancelled: 'stopped',
  closed: 'closed',
  timeout: 'timeout',
  completed: 'success',
  fatal: 'fatal',
};

export class RequestRun {
  private readonly service: QueryParts;
  private readonly input: RunInput;
  private readonly ending = new AbortController();
  private readonly receivedMs: number;
  private readonly startedMs: number;
  private readonly id: string;
  private request: QueryRequest | null = null;
  private readonly active: ActiveRequest;
  private writer: AnswerWriter;
  private timer: Timer | null = null;
  private slices: RequestSlices | null = null;
  private execution: Execution | null = null;
  private rows: AbortableRows | null = null;
  private engine: Engine | null = null;
  private transaction: RequestTransaction | null = null;
  private prepared: PreparedEntry | null = null;
  private justPrepared: PreparedEntry | null = null;
  /** Times of the service's own phases; `ranAt`: when the engine began. */
  private readonly ownMs = { plan: 0, authorize: 0, ranAt: 0 };
  private leaveLimits: (resultBytes: number) => void = () => {};

  constructor(service: QueryParts, input: RunInput) {
    const { clock, random, settings } = service.deps;
    this.service = service;
    this.input = input;
    this.receivedMs = clock.monotonicMs();
    this.startedMs = clock.wallMs();
    this.id = random.uuid();
    this.writer = new AnswerWriter(input.sink, service.timers, settings.isPretty);
    this.active = newRequest({
      id: this.id,
      remoteAddress: input.origin.remoteAddress,
      userAgent: input.origin.userAgent,
      startedMs: this.startedMs,
      receivedMs: this.receivedMs,
      cancel: (reason) => this.cancel(reason, 'cancelled'),
    });
    input.whenClosed(() => this.cancel(closedByClient, 'closed'));
  }

  async start(): Promise<void> {
    const { service } = this;
    service.active.add(this.active);
    try {
      await this.run();
    } catch (error) {
      this.fail(error);
    } finally {
      this.timer?.cancel();
      this.leaveLimits(this.writer.bytes);
      service.active.remove(this.active);
      this.record();
    }
  }

  private async run(): Promise<void> {
    const { service, input } = this;
    service.checkRunning();
    const request = readParameters(input.sent);
    this.use(request);
    const session = await openSession(service.deps.authority, input.origin, request.credentials);
    this.active.users = session.users;
    this.leaveLimits = enterLimits(service.meters, session.callers, input.sent.body.length);
    this.limitTime(request);
    // A statement that waits for its transaction does not hold a place of the service.
    const named = await RequestTransaction.enter(service, request, session, this.ending.signal);
    try {
      await this.admit(named, request, session);
    } finally {
      named.leave();
    }
  }

  private async admit(named: RequestTransaction, request: QueryRequest, session: Session): Promise<void> {
    const { service } = this;
    const { signal } = this.ending;
    if (!(await service.admission.enter(signal))) throw sqlErrorWith(1182, { isRetryable: true });
    const slices = (this.slices = service.slices.begin());
    try {
      signal.throwIfAborted();
      await this.serve(named, request, session);
    } finally {
      slices.end();
      service.admission.leave();
    }
  }

  private use(request: QueryRequest): void {
    const { deps, timers } = this.service;
    this.request = request;
    this.active.request = request;
    const isPretty = request.pretty ?? deps.settings.isPretty;
    if (isPretty !== deps.settings.isPretty)
      this.writer = new AnswerWriter(this.input.sink, timers, isPretty);
  }

  private limitTime({ timeoutMs }: QueryRequest): void {
    const { deps, timers } = this.service;
    const limits = [timeoutMs, deps.settings.timeoutMs].filter((ms) => ms > 0);
    if (limits.length === 0) return;
    const ms = Math.min(...limits);
    this.timer = timers.after(ms, () => this.cancel(sqlError(1080, durationText(ms)), 'timeout'));
  }

  private cancel(reason: Error, state: RequestState): void {
    if (this.ending.signal.aborted) return;
    this.active.state = state;
    this.ending.abort(reason);
    this.rows?.abort(reason);
  }

  private async serve(named: RequestTransaction, request: QueryRequest, session: Session): Promise<void> {
    const { service } = this;
    this.active.servedMs = service.deps.clock.monotonicMs();
    this.active.state = 'running';
    const engine = (this.engine = await service.deps.engine());
    if (named.transaction !== null || !request.transaction.isImplicit)
      return await this.serveWithin(named, engine, request, session);
    const begun = await RequestTransaction.begin(service, request, session, this.ending.signal);
    try {
      await this.serveWithin(begun, engine, request, session);
    } finally {
      begun.leave();
    }
  }

  private async serveWithin(
    transaction: RequestTransaction,
    engine: Engine,
    request: QueryRequest,
    session: Session,
  ): Promise<void> {
    const { service } = this;
    this.transaction = transaction;
    const datastore = transaction.datastore(requestDatastore(service, session));
    const choice = new StatementChoice(service, engine, datastore, request);
    const { clock } = service.deps;
    const plannedMs = clock.monotonicMs();
    const chosen = choice.choose();
    this.ownMs.plan = clock.monotonicMs() - plannedMs;
    const context = executeContext({
      service,
      request,
      session,
      choice,
      datastore,
      transaction,
      slices: this.slices,
      signal: this.ending.signal,
      startedMs: this.startedMs,
      isProfiled: this.profileLevel() !== 'off',
      prepared: (entry) => {
        this.justPrepared = entry;
      },
      parameters: parametersOf(request, chosen.using),
    });
    const isAutoExecuted = request.autoExecute && chosen.prepared.kind === 'PREPARE';
    const run = isAutoExecuted ? await this.prepareNow(engine, session, chosen, context) : chosen;
    await this.runChosen(engine, request, session, run, context);
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

  private async runChosen(
    engine: Engine,
    request: QueryRequest,
    session: Session,
    chosen: Chosen,
    context: ExecuteContext,
  ): Promise<void> {
    const { prepared, entry } = chosen;
    this.prepared = entry;
    this.active.kind = prepared.kind;
    this.active.preparedName = entry?.name ?? null;
    this.active.preparedText = entry?.text ?? null;
    this.transaction?.check(prepared.kind);
    if (request.isReadonly && !prepared.isReadonly) throw sqlError(1000, readonlyText);
    const { clock } = this.service.deps;
    const checkedMs = clock.monotonicMs();
    checkPrivileges(session.callers, prepared.privileges);
    checkSingleVector(request, prepared.keyspaces);
    this.ownMs.ranAt = clock.monotonicMs();
    this.ownMs.authorize = this.ownMs.ranAt - checkedMs;
    const execution = engine.execute(prepared, context);
    this.execution = execution;
    this.active.outcome = execution.outcome;
    await this.send(engine, request, chosen, execution);
  }

  private async send(
    engine: Engine,
    request: QueryRequest,
    chosen: Chosen,
    execution: Execution,
  ): Promise<void> {
    const { writer } = this;
    const { signal } = this.ending;
    const rows = new AbortableRows(execution.rows);
    this.rows = rows;
    let isOpen = false;
    const open = () => {
      if (!isOpen) this.head(engine, request, chosen);
      isOpen = true;
    };
    try {
      signal.throwIfAborted();
      for (;;) {
        const batch = await rows.next();
        if (batch === null) break;
        open();
        for (const row of batch) writer.row(engine.textOf(row));
        this.active.rows.count = writer.rows;
        this.active.rows.bytes = writer.bytes;
        await writer.ready();
        signal.throwIfAborted();
      }
      await this.transaction?.end(execution.outcome.errors);
      open();
      this.active.state = 'completed';
      this.finish([...execution.outcome.errors], null);
    } catch (error) {
      if (!isOpen && !signal.aborted) throw error;
      open();
      const reason = signal.aborted ? signal.reason : error;
      if (!signal.aborted) this.active.state = 'fatal';
      this.finish([...execution.outcome.errors, reason], reason);
    } finally {
      rows.end();
    }
  }

  private head(engine: Engine, request: QueryRequest, { prepared, entry, shownName }: Chosen): void {
    const { writer } = this;
    writer.member('requestID', `"${this.id}"`);
    if (request.clientContextId !== null)
      writer.member('clientContextID', JSON.stringify(request.clientContextId));
    const name = shownName ?? (request.autoExecute ? (entry?.name ?? null) : null);
    if (name !== null) writer.member('prepared', JSON.stringify(name));
    if (request.signature ?? true) writer.member('signature', signatureText(engine, prepared.signature));
    writer.beginRows();
  }

  /** Ends an answer whose rows have begun. */
  private finish(errors: readonly unknown[], failure: unknown): void {
    const { writer, execution, active } = this;
    writer.endRows();
    this.end(errors, execution?.outcome.warnings ?? []);
    const isStopped = this.ending.signal.aborted;
    const status = failure === null ? (errors.length > 0 ? statusOf(errors[0]) : 200) : statusOf(failure);
    if (active.state === 'closed') writer.abandon();
    else
      writer.end(
        isStopped && active.state === 'timeout'
          ? 200
          : errors.length > 0 && failure === null
            ? statusWithFailedRows(status)
            : status,
      );
  }

  /** Ends the answer of a request that failed before its rows. */
  private fail(error: unknown): void {
    const { writer, request, ending, active } = this;
    const { log } = this.service.deps;
    const reason = ending.signal.aborted ? ending.signal.reason : error;
    if (!ending.signal.aborted) active.state = 'fatal';
    const entry = errorEntry(reason, false);
    if (entry.code === 5000 && reason instanceof Error && reason.name !== 'SqlError')
      log.error('query.failed', { request: this.id, reason: reason.stack ?? String(reason) });
    if (request === null) this.service.counters.add('invalid_requests');
    if (active.state === 'closed' || writer.isSent) {
      writer.abandon();
      return;
    }
    writer.member('requestID', JSON.stringify(this.id));
    if (request?.clientContextId) writer.member('clientContextID', JSON.stringify(request.clientContextId));
    this.end([reason], []);
    writer.end(statusOf(reason));
  }

  private end(errors: readonly unknown[], warnings: readonly unknown[]): void {
    const { writer, active, execution } = this;
    const hasMutations = (execution?.outcome.mutations ?? 0) > 0;
    const shown: ErrorEntry[] = errors.map((error) => errorEntry(error, hasMutations));
    active.errors = shown;
    if (shown.length > 0) writer.member('errors', JSON.stringify(shown));
    if (warnings.length > 0)
      writer.member('warnings', JSON.stringify(warnings.map((warning) => errorEntry(warning, hasMutations))));
    const isFailed = active.state === 'completed' && shown.length > 0;
    writer.member('status', JSON.stringify(isFailed ? 'errors' : states[active.state]));
    if (this.request?.metrics ?? true) this.writeMetrics(shown.length, warnings.length);
    this.writeProfile();
  }

  private writeMetrics(errors: number, warnings: number): void {
    const { writer, execution, active, service } = this;
    const nowMs = service.deps.clock.monotonicMs();
    const text = metricsText({
      nowMs,
      receivedMs: this.receivedMs,
      servedMs: active.servedMs,
      errors,
      warnings,
      rows: writer.rows,
      bytes: writer.bytes,
      load: service.active.count,
      outcome: execution?.outcome,
      times: this.transaction?.times(),
    });
    writer.member('metrics', text);
  }

  private profileLevel(): 'off' | 'phases' | 'timings' {
    return this.request?.profile ?? this.service.deps.settings.profile;
  }

  private writeProfile(): void {
    const { request, execution, engine, writer, service } = this;
    const { node, settings } = service.deps;
    const level = this.profileLevel();
    if (level !== 'off' && execution !== null && engine !== null)
      writer.member(
        'profile',
        profileOf(execution, {
          level,
          startedMs: this.startedMs,
          ownMs: { ...this.ownMs, run: service.deps.clock.monotonicMs() - this.ownMs.ranAt },
          rows: writer.rows,
          version: node().version,
          host: node().name,
          textOf: (value) => engine.textOf(value),
        }),
      );
    if (!(request?.controls ?? settings.showsControls) || request === null) return;
    writer.member('controls', controlsText(request));
  }

  private record(): void {
    const { service, active, request, writer, execution } = this;
    const { clock, settings } = service.deps;
    const nowMs = clock.monotonicMs();
    const elapsedMs = nowMs - this.receivedMs;
    const serviceMs = active.servedMs === 0 ? 0 : nowMs - active.servedMs;
    active.rows.count = writer.rows;
    active.rows.bytes = writer.bytes;
    if (settings.completedThresholdMs >= 0 && elapsedMs >= settings.completedThresholdMs)
      service.completed.add({ active, elapsedMs, serviceMs }, settings.completedLimit);
    const warnings = execution?.outcome.warnings.length ?? 0;
    auditStatement(service.deps, { active, elapsedMs, serviceMs, warnings });
    if (this.prepared !== null) countUse(this.prepared, { endedMs: clock.wallMs(), elapsedMs, serviceMs });
    service.counters.completed({
      kind: active.kind,
      consistency: request?.consistency ?? 'not_bounded',
      isPrepared: this.prepared !== null,
      isCancelled: active.state === 'cancelled' || active.state === 'closed',
      elapsedMs,
      serviceMs,
      rows: writer.rows,
      bytes: writer.bytes,
      errors: active.errors.length,
      warnings,
      mutations: execution?.outcome.mutations ?? 0,
      phases: execution?.outcome.phases ?? new Map(),
    });
  }
}

const closedByClient: SqlError = sqlError(5011, 'the client closed the connection');
const readonlyText = 'The server or request is read-only and cannot accept this write statement.';
