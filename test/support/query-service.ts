// A query service without sockets and data, with statements, users and a clock for tests.
import { callerOf } from '#auth/authenticator.ts';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import type { RequestOrigin } from '#query/access/session.ts';
import type { AnswerSink } from '#query/answer/answer-writer.ts';
import type { AuditedStatement, PermissionRefusal, StatementAuditing } from '#query/audit.contract.ts';
import { CurlFunction } from '#query/curl/curl-function.ts';
import { BucketClients } from '#query/data/bucket-clients.ts';
import { Keyspaces } from '#query/data/keyspaces.ts';
import { KnownLibraries } from '#query/functions/known-libraries.ts';
import { KnownFunctions } from '#query/functions/user-functions.ts';
import { JavaScriptFunctions } from '#query/javascript/javascript-functions.ts';
import { JavaScriptThreads } from '#query/javascript/javascript-threads.ts';
import type { Credential } from '#query/request/query-request.ts';
import type { SentRequest } from '#query/request/read-parameters.ts';
import { QueryService } from '#query/service/query-service.ts';
import { defaultSettings, type ServiceSettings } from '#query/state/settings.ts';
import { KnownStatistics } from '#query/statistics/known-statistics.ts';
import { fakeEngine } from './fake-engine.ts';
import { ManualClock } from './manual-clock.ts';

/** Collects an answer. `takes`: number of writes after which the client accepts no more. */
export class TestSink implements AnswerSink {
  status = 0;
  text = '';
  isEnded = false;
  takes = Infinity;
  private resolveDrained: (() => void) | null = null;

  begin(status: number): void {
    this.status = status;
  }

  write(text: string): boolean {
    this.text += text;
    return --this.takes > 0;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.resolveDrained = resolve;
    });
  }

  takeMore(): void {
    this.takes = Infinity;
    this.resolveDrained?.();
  }

  end(text: string): void {
    this.text += text;
    this.isEnded = true;
  }

  get answer(): Answer {
    return JSON.parse(this.text) as Answer;
  }
}

export interface Answer {
  requestID: string;
  clientContextID?: string;
  prepared?: string;
  signature?: unknown;
  results?: unknown[];
  errors?: { code: number; msg: string; retry?: boolean; reason?: unknown }[];
  status: string;
  metrics?: Record<string, unknown>;
  profile?: Record<string, unknown>;
  controls?: Record<string, unknown>;
}

export function aQueryService(
  changes: Partial<ServiceSettings> = {},
  edition: 'enterprise' | 'community' = 'enterprise',
) {
  const clock = new ManualClock();
  const engine = fakeEngine();
  const keyspaces = new Keyspaces();
  const nothing = () => Promise.reject(new Error('the test service does not provide this call'));
  const admin = callerOf({ name: 'admin', domain: 'admin' }, [{ role: 'admin', names: [] }]);
  const nobody = callerOf({ name: 'nobody', domain: 'local' }, []);
  const auditing: {
    settings: StatementAuditing;
    statements: AuditedStatement[];
    refusals: PermissionRefusal[];
  } = {
    settings: null,
    statements: [],
    refusals: [],
  };
  const authority = {
    revision: 0,
    byCertificate: () => Promise.resolve(null),
    authenticate: ({ user, password }: Credential) =>
      Promise.resolve(password !== 'password' ? null : user === 'admin' ? admin : nobody),
  };
  const libraries = new KnownLibraries();
  const startThread = (): never => {
    throw new Error('the test service runs no functions in JavaScript');
  };
  const threads = new JavaScriptThreads({ startThread, clock, threadsMax: 1 });
  const service = new QueryService({
    engine: () => Promise.resolve(engine),
    authority,
    clients: new BucketClients(realClock),
    keyspaces,
    functions: new KnownFunctions(),
    changeFunction: nothing,
    libraries,
    changeLibraries: nothing,
    javaScript: new JavaScriptFunctions({ threads, libraries }),
    curl: new CurlFunction({
      allowlist: () => ({ all_access: false, allowed_urls: [], disallowed_urls: [] }),
      send: nothing,
      userAgent: () => 'test',
    }),
    statistics: new KnownStatistics(),
    changeStatistics: nothing,
    indexes: { indexesOf: () => [], scan: () => [] as never, figures: nothing },
    indexAdmin: { create: nothing, drop: nothing, build: nothing, alter: nothing },
    indexRevision: () => 0,
    edition,
    rest: { request: nothing },
    scratch: nothing,
    collectGarbage: () => {},
    audit: {
      settings: () => auditing.settings,
      report: (statement) => auditing.statements.push(statement),
      permissionRefused: (refusal) => auditing.refusals.push(refusal),
    },
    attemptCollections: { all: () => [], add: () => {}, clear: () => {} },
    settings: { ...defaultSettings(1), ...changes },
    clock,
    random: realRandom,
    log: silentLog,
    processFigures: () => ({
      usedBytes: 1,
      heapBytes: 2,
      residentBytes: 3,
      processors: 1,
      userPercent: 0,
      systemPercent: 0,
    }),
    node: () => ({
      name: 'n:8091',
      host: 'n:8091',
      version: '7.1.0',
      datastoreUrl: 'http://n:8091',
      nodes: [],
    }),
    otherNodes: {
      rows: async () => ({ nodes: [], failed: [] }),
      rowsAfter: async () => ({ rows: [], next: null }),
      prepared: async () => null,
      discardPrepared: async () => {},
      remove: async () => {},
    },
  });
  const ask = (fields: object, { sink = new TestSink(), user = 'admin', password = 'password' } = {}) => {
    const closed = new AbortController();
    const whenClosed = (act: () => void) => closed.signal.addEventListener('abort', act);
    const done = service.answer(sentAs(fields), originOf(user, password), sink, whenClosed);
    return { sink, done, close: () => closed.abort(new Error('gone')) };
  };
  /** The answer to a request that ends by itself. */
  const answerOf = async (fields: object, options: Parameters<typeof ask>[1] = {}) => {
    const { sink, done } = ask(fields, options);
    await done;
    return { text: sink.text, ...sink.answer };
  };
  return { service, authority, clock, engine, keyspaces, ask, answerOf, auditing };
}

const sentAs = (fields: object): SentRequest => ({
  method: 'POST',
  search: '',
  contentType: 'application/json',
  accept: undefined,
  body: Buffer.from(JSON.stringify(fields)),
});

export const originOf = (name: string, password: string): RequestOrigin => ({
  credentials: name === '' ? { kind: 'none' } : { kind: 'basic', name, password },
  remoteAddress: '127.0.0.1:1',
  userAgent: 'test',
});
