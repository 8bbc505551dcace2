// The privileges that a statement requires.
import type { KeyspaceName } from '../datastore/keyspace.ts';

/** An action that the roles of the user must allow; the query service has the permission that each action needs. */
export interface Privilege {
  readonly action:
    | 'select'
    | 'insert'
    | 'update'
    | 'delete'
    | 'index'
    | 'catalog'
    | 'scope'
    | 'grant'
    | 'function'
    | 'execute function'
    | 'external function'
    | 'execute external function'
    | 'curl'
    | 'transaction';
  /** Absent: the whole cluster. `collection` is empty for a scope, and `scope`, too, for a bucket. */
  readonly keyspace?: KeyspaceName;
}
