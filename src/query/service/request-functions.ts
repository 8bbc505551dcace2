// Functions of a statement about the service and the request that runs it: DS_VERSION() and others like it.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { NodeDescription } from '../state/parts.ts';

/** The language that statements are written in, as answers name it, too. */
export const languageVersion = '7.1.0-N1QL';

/** null: of those that need more than this. */
export function requestFunction(name: string, node: NodeDescription, users: readonly string[]): Value {
  switch (name) {
    case 'version':
      return languageVersion;
    case 'min_version':
      return '1.0.0';
    case 'ds_version':
      return node.version;
    case 'node_name':
      return node.name;
    case 'current_users':
      return [...users];
    case 'curl':
      throw sqlError(16003, 'CURL(): statements of this node read nothing from other servers');
    default:
      return null;
  }
}
