// The query service of one thread: admits, runs and counts requests. Its dependencies are injected.

import { UserMeters } from '#auth/user-meters.ts';
import { KeyedQueue } from '#ports/keyed-queue.ts';
import { SharedTimers } from '#ports/shared-timers.ts';
import { sqlErrorWith } from '#sqlpp/errors/sql-error.ts';
import type { RequestOrigin } from '../access/session.ts';
import type { AnswerSink } from '../answer/answer-writer.ts';
import { parseDuration } from '../request/duration.ts';
import type { SentRequest } from '../request/read-parameters.ts';
import { ActiveRequests } from '../state/active-requests.ts';
import { Admission, spareWaiting } from '../state/admission.ts';
import { AdvisorSessions } from '../state/advisor-sessions.ts';
import { CompletedRequests } from '../state/completed-requests.ts';
import { Counters } from '../state/counters.ts';
import type { Engine } from '../state/engine-port.ts';
import { LongStatements } from '../state/long-statements.ts';
import type { QueryParts, QueryServiceDeps } from '../state/parts.ts';
import { PlanCache } from '../state/plan-cache.ts';
import { PreparedCache } from '../state/prepared-cache.ts';
import { SignedPlans } from '../state/signed-plans.ts';
import { TimeSlices } from '../state/time-slices.ts';
import { LostAttempts } from '../transactions/lost-attempts.ts';
import { TransactionData } from '../transactions/transaction-data.ts';
import { Transactions } from '../transactions/transactions.ts';
import { RequestRun, type WhenClosed } from './request-run.ts';

/** The interval of searches for lost attempts while the setting `cleanupwindow` is 0. */
const cleanUpWindowMs = 60_000;

export class QueryService implements QueryParts {
  readonly deps: QueryServiceDeps;
  readonly active = new ActiveRequests();
  readonly completed = new CompletedRequests();
  readonly advisorSessions: AdvisorSessions;
  readonly prepared = new PreparedCache();
  readonly plans = new PlanCache();
  readonly counters: Counters;
  readonly signedPlans: SignedPlans;
  readonly admission: Admission;
  readonly transactions: Transactions;
  readonly slices: TimeSlices;
  readonly longStatements: LongStatements;
  readonly timers: SharedTimers;
  private readonly lost: LostAttempts;
  readonly meters: UserMeters;
  readonly roleChanges = new KeyedQueue();
  readonly startedMs: number;
  private isStopping = false;
  private loadedEngine: Engine | null = null;

  constructor(deps: QueryServiceDeps) {
    this.deps = deps;
    this.startedMs = deps.clock.wallMs();
    this.counters = new Counters(deps.clock.monotonicMs());
    this.signedPlans = new SignedPlans(deps.random.bytes(32));
    this.meters = new UserMeters(deps.clock);
    const { settings, clients, keyspaces, clock, random, log } = deps;
    const data = new TransactionData(clients, keyspaces, clock);
    this.lost = new LostAttempts({
      data,
      collections: deps.attemptCollections,
      clock,
      log,
      windowMs: () => parseDuration(String(settings.others['cleanupwindow'])) || cleanUpWindowMs,
      isOn: () => settings.others['cleanuplostattempts'] !== false,
    });
    this.transactions = new Transactions({
      clock,
      log,
      ending: { data, clock, random, lost: this.lost },
    });
    this.advisorSessions = new AdvisorSessions(clock, random);
    this.slices = new TimeSlices(clock);
    this.timers = new SharedTimers(clock);
    this.admission = new Admission(() => ({ running: settings.servicers, waiting: settings.queueLimit }));
    this.longStatements = new LongStatements(clock, () => ({
      places: settings.queueLimit,
      spare: spareWaiting,
    }));
  }

  /** Resolves when the answer is complete or the client has disconnected. */
  answer(sent: SentRequest, origin: RequestOrigin, sink: AnswerSink, whenClosed: WhenClosed): Promise<void> {
    return new RequestRun(this, { sent, origin, sink, whenClosed }).start();
  }

  get engine(): Engine | Promise<Engine> {
    return this.loadedEngine ?? this.loadEngine();
  }

  private async loadEngine(): Promise<Engine> {
    this.loadedEngine = await this.deps.engine();
    return this.loadedEngine;
  }

  /**
   * Changes when keyspaces, functions, statistics or indexes change: plans that were made at another revision are outdated. Each of the
   * revisions only grows, so that their sum changes with each of them.
   */
  get planRevision(): number {
    const { keyspaces, functions, statistics, indexRevision } = this.deps;
    return keyspaces.revision + functions.revision + statistics.revision + indexRevision();
  }

  /** @throws SqlError while the service stops, or the node is not active in its cluster: clients then ask another node */
  checkRunning(): void {
    if (this.isStopping) throw sqlErrorWith(1180, { isRetryable: true });
    const { nodes } = this.deps.node();
    if (nodes.length > 0 && !nodes.some(({ isThis }) => isThis))
      throw sqlErrorWith(1181, { isRetryable: true }, notActive);
  }

  /** Call when another query node has gone, or may have before the service began. */
  cleanUpForOthers(): void {
    this.lost.searchForOthers();
  }

  /** Ends running requests and refuses new ones. */
  stop(): void {
    this.isStopping = true;
    this.transactions.stop();
    this.lost.stop();
    this.advisorSessions.stop();
    for (const request of this.active.all()) request.cancel(sqlErrorWith(1180, { isRetryable: true }));
  }
}

const notActive = 'this node is not active in the cluster: it was failed over, or no rebalance has added it';
