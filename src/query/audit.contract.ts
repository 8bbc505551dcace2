// The interface of query service and cluster manager for audited statements, in plain data.

/** The published number of each kind of statement. */
export interface StatementEvent {
  readonly id: number;
  /** The service's name of the kind: `CREATE_INDEX`. */
  readonly kind: string;
  /** The kind for descriptions: `CREATE INDEX`. */
  readonly words: string;
}

/** A text that is no statement. */
const unrecognized = 'UNRECOGNIZED';

const numbers: readonly (readonly [id: number, kind: string, words?: string])[] = [
  [28672, 'SELECT'],
  [28673, 'EXPLAIN'],
  [28674, 'PREPARE'],
  [28675, 'INFER'],
  [28676, 'INSERT'],
  [28677, 'UPSERT'],
  [28678, 'DELETE'],
  [28679, 'UPDATE'],
  [28680, 'MERGE'],
  [28681, 'CREATE_INDEX'],
  [28682, 'DROP_INDEX'],
  [28683, 'ALTER_INDEX'],
  [28684, 'BUILD_INDEX'],
  [28685, 'GRANT_ROLE'],
  [28686, 'REVOKE_ROLE'],
  [28687, unrecognized],
  [28688, 'CREATE_PRIMARY_INDEX'],
  [28706, 'CREATE_FUNCTION'],
  [28707, 'DROP_FUNCTION'],
  [28708, 'EXECUTE_FUNCTION'],
  [28713, 'CREATE_SCOPE'],
  [28714, 'DROP_SCOPE'],
  [28715, 'CREATE_COLLECTION'],
  [28716, 'DROP_COLLECTION'],
  [28717, 'FLUSH_COLLECTION'],
  [28718, 'UPDATE_STATISTICS'],
  [28719, 'ADVISE'],
  [28720, 'START_TRANSACTION'],
  [28721, 'COMMIT', 'COMMIT TRANSACTION'],
  [28722, 'ROLLBACK', 'ROLLBACK TRANSACTION'],
  [28723, 'ROLLBACK_SAVEPOINT', 'ROLLBACK TRANSACTION TO SAVEPOINT'],
  [28724, 'SET_TRANSACTION_ISOLATION'],
  [28725, 'SAVEPOINT'],
];

export const statementEvents: readonly StatementEvent[] = numbers.map(([id, kind, words]) => ({
  id,
  kind,
  words: words ?? kind.replaceAll('_', ' '),
}));

const byKind = new Map(statementEvents.map((event) => [event.kind, event]));

export const statementEventOf = (kind: string | null): StatementEvent =>
  byKind.get(kind ?? unrecognized) ?? (byKind.get(unrecognized) as StatementEvent);

export interface StatementUser {
  readonly name: string;
  readonly domain: string;
}

/** Which statements are recorded; null: none. */
export type StatementAuditing = {
  /** Ids of events that are not recorded. */
  readonly disabled: readonly number[];
  /** Users whose statements are not recorded. */
  readonly disabledUsers: readonly StatementUser[];
} | null;

export interface AuditedStatement {
  /** The id of the event. */
  readonly id: number;
  readonly user: StatementUser;
  /** The address of the client. */
  readonly from: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A request that was refused since its user lacks a permission. */
export interface PermissionRefusal {
  readonly user: StatementUser;
  /** The address of the client, without the port: refusals of one client are counted together. */
  readonly from: string;
  /** The kind of the statement, or the method and the path of another request: `GET /admin/vitals`. */
  readonly operation: string;
}

export interface StatementAudit {
  readonly settings: () => StatementAuditing;
  readonly report: (statement: AuditedStatement) => void;
  readonly permissionRefused: (refusal: PermissionRefusal) => void;
}
