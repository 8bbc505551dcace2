// What the engine gets from a request: its parameters, limits, rights and consistency.
import type { ExecuteContext } from '#sqlpp/run/engine.ts';
import { checkPrivileges } from '../access/privileges.ts';
import type { Session } from '../access/session.ts';
import { RequestConsistency } from '../data/consistency.ts';
import type { StatementPlace } from '../data/temporary-failures.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { QueryParts } from '../state/parts.ts';
import type { PreparedEntry } from '../state/prepared-cache.ts';
import type { RequestSlices } from '../state/time-slices.ts';
import { adviseStatements } from './advisor.ts';
import { runCommand } from './commands.ts';
import type { PlanChooser } from './plan-chooser.ts';
import { requestFunction } from './request-functions.ts';
import { consistencyIn, type RequestTransaction } from './request-transaction.ts';

export interface ContextParts {
  readonly service: QueryParts;
  readonly request: QueryRequest;
  readonly session: Session;
  readonly chooser: PlanChooser;
  readonly datastore: ExecuteContext['datastore'];
  readonly transaction: RequestTransaction;
  readonly slices: RequestSlices | null;
  readonly place: StatementPlace | undefined;
  readonly signal: AbortSignal;
  /** The time of the request in milliseconds since 1970. */
  readonly startedMs: number;
  readonly isProfiled: boolean;
  readonly parameters: Pick<ExecuteContext, 'positional' | 'named'>;
  /** Called with the statement that a PREPARE of this request prepares. */
  readonly onPrepared: (entry: PreparedEntry) => void;
}

/** An operator whose rows take more memory than this writes them to temporary files. */
const defaultSpillBytes = 32 << 20;
const mib = 1 << 20;

export function executeContext(parts: ContextParts): ExecuteContext {
  const { service, request, session, chooser, transaction, slices, place, signal, onPrepared } = parts;
  const { clock, random, settings, scratch, collectGarbage, functions, clients, node } = service.deps;
  const retry = { clock, signal, place };
  const consistency = new RequestConsistency(consistencyIn(transaction, request), clients, retry);
  const quotaMb = smallestAboveZero(request.memoryQuotaMb, settings.memoryQuotaMb);
  const sandboxSession = service.deps.javaScript.newSession();
  const context: ExecuteContext = {
    datastore: parts.datastore,
    positional: parts.parameters.positional,
    named: parts.parameters.named,
    startedMs: parts.startedMs,
    clockMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    random: () => random.bytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => random.uuid(),
    pause: () => slices?.pause() ?? Promise.resolve(),
    scratch,
    collectGarbage,
    memoryQuotaBytes: quotaMb * mib,
    spillBytes: quotaMb > 0 ? Math.min(defaultSpillBytes, (quotaMb * mib) / 2) : defaultSpillBytes,
    isReadonly: request.isReadonly,
    preserveExpiry: request.preserveExpiry,
    durability: request.durability ?? 'none',
    consistency: (keyspace) => consistency.consistencyOf(keyspace),
    scanWaitMs: request.scanWaitMs,
    errorLimit: request.errorLimit ?? settings.errorLimit,
    signal,
    // Undefined instead of a conditional spread, with which V8 takes much longer to create the object.
    queryContext: request.queryContext ?? undefined,
    userFunctions: functions.lookupFor(request.queryContext, (definition, values) =>
      service.deps.javaScript.call(definition, values, {
        session: sandboxSession,
        user: session.users[0] ?? '',
        signal,
      }),
    ),
    users: session.users,
    curl: (values, memory) => service.deps.curl.call(values, signal, memory),
    serviceCall: (name) => requestFunction(name, node(), session.users),
    isProfiled: parts.isProfiled,
    authorize: (privileges) => checkPrivileges(session.callers, privileges),
    advisor: (statements) => adviseStatements(statements, { service, chooser }, context),
    // A statement of a function has a context with other parameters.
    command: (command, statementContext) =>
      runCommand(command, {
        service,
        request,
        session,
        chooser,
        context: statementContext,
        transaction,
        place,
        onPrepared,
      }),
  };
  return context;
}

/** The smaller of two limits, of which 0 and less mean none. */
export const smallestAboveZero = (a: number, b: number): number =>
  a > 0 && b > 0 ? Math.min(a, b) : Math.max(a, b);
