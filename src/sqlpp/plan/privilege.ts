// What a statement needs the right to do.
import type { KeyspaceName } from '../datastore/keyspace.ts';

/** What a statement needs the right to do, and where. */
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
  /** Left out: nothing narrower than the cluster. `collection` is empty for a scope. */
  readonly keyspace?: KeyspaceName;
}
