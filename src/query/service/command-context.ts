// What a command (a statement that the service runs without the engine) gets from its request.
import type { ExecuteContext } from '#sqlpp/run/engine.ts';
import type { Session } from '../access/session.ts';
import type { StatementPlace } from '../data/temporary-failures.ts';
import type { QueryRequest } from '../request/query-request.ts';
import type { QueryParts } from '../state/parts.ts';
import type { PreparedEntry } from '../state/prepared-cache.ts';
import type { PlanChooser } from './plan-chooser.ts';
import type { RequestTransaction } from './request-transaction.ts';

export interface CommandContext {
  readonly service: QueryParts;
  readonly request: QueryRequest;
  readonly session: Session;
  readonly chooser: PlanChooser;
  readonly context: ExecuteContext;
  readonly transaction: RequestTransaction;
  readonly place: StatementPlace | undefined;
  /** Called with the entry that PREPARE has created. */
  readonly onPrepared?: (entry: PreparedEntry) => void;
}
