// Rows of system:functions: the functions that the caller may run or manage.
import { scopeKeyspace } from '#sqlpp/datastore/keyspace.ts';
import { isHeld } from '../access/privileges.ts';
import type { FunctionDefinition } from '../query.contract.ts';
import { type PlainRow, type RowSource, showRow } from './plain-row.ts';

export function functionRows(source: RowSource): PlainRow[] {
  const { service, session } = source;
  const isVisible = ({ scope }: FunctionDefinition): boolean => {
    const target = scope === null ? {} : { keyspace: scopeKeyspace(scope) };
    return (
      isHeld(session.callers, { action: 'execute function', ...target }) ||
      isHeld(session.callers, { action: 'function', ...target })
    );
  };
  return service.deps.functions
    .all()
    .filter((definition) => showRow(source, isVisible(definition)))
    .map(functionRow);
}

export function functionRow({ scope, name, parameters, isVariadic, body }: FunctionDefinition): PlainRow {
  const identity = { name, namespace: 'default', type: scope === null ? 'global' : 'scope', ...scope };
  const definition = {
    '#language': 'inline',
    expression: body,
    parameters: isVariadic ? null : parameters,
    text: body,
  };
  const id = scope === null ? `default:${name}` : `default:${scope.bucket}.${scope.scope}.${name}`;
  return { id, value: { identity, definition } };
}
