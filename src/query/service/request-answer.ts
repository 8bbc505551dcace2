// The answer of one request without its rows: the members before them and after them, and the HTTP status.
import type { Execution } from '#sqlpp/run/engine.ts';
import { type AnswerSink, AnswerWriter } from '../answer/answer-writer.ts';
import { type ErrorEntry, errorEntry, statusOf } from '../answer/error-entry.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { ActiveRequest, RequestState } from '../state/active-requests.ts';
import type { Engine } from '../state/engine-port.ts';
import type { QueryParts } from '../state/parts.ts';
import { controlsText, metricsText, signatureText, statusWithFailedRows } from './answer-members.ts';
import type { Chosen } from './plan-chooser.ts';
import { profileOf } from './profile.ts';
import type { RequestTransaction } from './request-transaction.ts';

/** The value of the member `status`, by the state in which a request ends. */
const statuses: Readonly<Record<RequestState, string>> = {
  submitted: 'running',
  running: 'running',
  cancelled: 'stopped',
  closed: 'closed',
  timeout: 'timeout',
  completed: 'success',
  fatal: 'fatal',
};

export class RequestAnswer {
  writer: AnswerWriter;
  request: QueryRequest | null = null;
  engine: Engine | null = null;
  execution: Execution | null = null;
  transaction: RequestTransaction | null = null;
  /** Durations of the service's own phases. */
  readonly ownMs = { plan: 0, authorize: 0 };
  /** When the engine began, by the monotonic clock. */
  engineStartedMs = 0;
  private readonly service: QueryParts;
  private readonly active: ActiveRequest;
  private readonly sink: AnswerSink;

  constructor(service: QueryParts, active: ActiveRequest, sink: AnswerSink) {
    this.service = service;
    this.active = active;
    this.sink = sink;
    this.writer = new AnswerWriter(sink, service.timers, service.deps.settings.isPretty);
  }

  /** Sets the request, whose parameters decide what the answer contains and whether it is indented. */
  follow(request: QueryRequest): void {
    const { deps, timers } = this.service;
    this.request = request;
    const isPretty = request.pretty ?? deps.settings.isPretty;
    if (isPretty !== deps.settings.isPretty) this.writer = new AnswerWriter(this.sink, timers, isPretty);
  }

  get profileLevel(): 'off' | 'phases' | 'timings' {
    return this.request?.profile ?? this.service.deps.settings.profile;
  }

  /** Writes the members before the rows. */
  begin(engine: Engine, request: QueryRequest, { prepared, entry, shownName }: Chosen): void {
    const { writer } = this;
    this.identify(request.clientContextId);
    const name = shownName ?? (request.autoExecute ? (entry?.name ?? null) : null);
    if (name !== null) writer.member('prepared', JSON.stringify(name));
    if (request.signature ?? true) writer.member('signature', signatureText(engine, prepared.signature));
    writer.beginRows();
  }

  /** Ends an answer whose rows have begun; `failure`: the error that ended them, which is also among `errors`. */
  end(errors: readonly unknown[], failure: unknown): void {
    const { writer, active } = this;
    writer.endRows();
    this.writeClosingMembers(errors, this.execution?.outcome.warnings ?? []);
    if (active.state === 'closed') writer.abandon();
    else if (active.state === 'timeout') writer.end(200);
    else if (failure !== null) writer.end(statusOf(failure));
    else writer.end(errors.length === 0 ? 200 : statusWithFailedRows(statusOf(errors[0])));
  }

  /** Ends the answer of a request that failed before its rows. */
  fail(reason: unknown): void {
    const { writer, active } = this;
    if (active.state === 'closed' || writer.isSent) {
      writer.abandon();
      return;
    }
    this.identify(this.request?.clientContextId ?? null);
    this.writeClosingMembers([reason], []);
    writer.end(statusOf(reason));
  }

  private identify(clientContextId: string | null): void {
    const { writer, active } = this;
    writer.member('requestID', `"${active.id}"`);
    if (clientContextId !== null) writer.member('clientContextID', JSON.stringify(clientContextId));
  }

  /** Writes the members after the rows. */
  private writeClosingMembers(errors: readonly unknown[], warnings: readonly unknown[]): void {
    const { writer, active, execution } = this;
    const hasMutations = (execution?.outcome.mutations ?? 0) > 0;
    const shown: ErrorEntry[] = errors.map((error) => errorEntry(error, hasMutations));
    active.errors = shown;
    if (shown.length > 0) writer.member('errors', JSON.stringify(shown));
    if (warnings.length > 0)
      writer.member('warnings', JSON.stringify(warnings.map((warning) => errorEntry(warning, hasMutations))));
    const isFailed = active.state === 'completed' && shown.length > 0;
    writer.member('status', `"${isFailed ? 'errors' : statuses[active.state]}"`);
    if (this.request?.metrics ?? true) this.writeMetrics(shown.length, warnings.length);
    this.writeProfile();
    this.writeControls();
  }

  private writeMetrics(errors: number, warnings: number): void {
    const { writer, execution, active, service } = this;
    const text = metricsText({
      nowMs: service.deps.clock.monotonicMs(),
      receivedMs: active.receivedMs,
      executionStartMs: active.executionStartMs,
      errors,
      warnings,
      rows: writer.rows,
      bytes: writer.bytes,
      load: service.active.count,
      outcome: execution?.outcome,
      transactionTimes: this.transaction?.times(),
    });
    writer.member('metrics', text);
  }

  private writeProfile(): void {
    const { execution, engine, writer, active, ownMs, engineStartedMs, profileLevel: level } = this;
    const { clock, node } = this.service.deps;
    if (level === 'off' || execution === null || engine === null) return;
    const { version, name: host } = node();
    const text = profileOf(execution, {
      level,
      startedMs: active.requestTimeMs,
      ownMs: { ...ownMs, run: clock.monotonicMs() - engineStartedMs },
      rows: writer.rows,
      version,
      host,
      textOf: (value) => engine.textOf(value),
    });
    writer.member('profile', text);
  }

  private writeControls(): void {
    const { request, service } = this;
    const isShown = request?.controls ?? service.deps.settings.showsControls;
    if (isShown && request !== null) this.writer.member('controls', controlsText(request));
  }
}
