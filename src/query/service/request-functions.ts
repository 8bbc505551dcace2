// SQL++ functions about the service and the request: DS_VERSION() and similar.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { NodeDescription } from '../state/parts.ts';

/** The version of SQL++, also in the Content-Type of answers. */
export const languageVersion = '7.1.0-N1QL';

/** null for a function that this module does not have. */
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
    case 'search':
    case 'search_meta':
    case 'search_score':
      throw sqlError(16003, `${name.toUpperCase()}(): this node has no search service`);
    default:
      return null;
  }
}
