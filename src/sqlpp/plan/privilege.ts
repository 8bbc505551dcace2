// The privileges that a statement requires.
import type { KeyspaceName } from '../datastore/keyspace.ts';

/** The permission for an action on a keyspace. */
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
    | 'transaction';
  /** Absent: the whole cluster. `collection` is empty for a scope. */
  readonly keyspace?: KeyspaceName;
}
