// Rows of system:functions: the functions that the caller may run or manage.
import { scopeKeyspace } from '#sqlpp/datastore/keyspace.ts';
import { functionActions, isHeld } from '../access/privileges.ts';
import type { FunctionDefinition, PlainRow } from '../query.contract.ts';
import { type RowSource, showRow } from './row-source.ts';

export function functionRows(source: RowSource): PlainRow[] {
  const { service, session } = source;
  const isVisible = ({ scope, library }: FunctionDefinition): boolean => {
    const target = scope === null ? {} : { keyspace: scopeKeyspace(scope) };
    const actions = functionActions(library);
    return (
      isHeld(session.callers, { action: actions.execute, ...target }) ||
      isHeld(session.callers, { action: actions.manage, ...target })
    );
  };
  return service.deps.functions
    .all()
    .filter((definition) => showRow(source, isVisible(definition)))
    .map(functionRow);
}

export function functionRow(defined: FunctionDefinition): PlainRow {
  const { scope, name } = defined;
  const identity = { name, namespace: 'default', type: scope === null ? 'global' : 'scope', ...scope };
  const definition =
    defined.library === undefined ? inlineOf(defined) : javaScriptOf(defined.library, defined);
  const id = scope === null ? `default:${name}` : `default:${scope.bucket}.${scope.scope}.${name}`;
  return { id, value: { identity, definition } };
}

const inlineOf = ({ parameters, isVariadic, body }: FunctionDefinition): object => ({
  '#language': 'inline',
  expression: body,
  parameters: isVariadic ? null : parameters,
  text: body,
});

/** `libName` is the library without `./`, which stands for `prefix`. */
function javaScriptOf(library: string, { scope, parameters, isVariadic, body }: FunctionDefinition): object {
  const isLocal = library.startsWith('./');
  return {
    '#language': 'javascript',
    libName: isLocal ? library.slice(2) : library,
    library,
    object: body,
    ...(!isVariadic && { parameters }),
    ...(isLocal && scope !== null && { prefix: `${scope.bucket}/${scope.scope}` }),
  };
}
