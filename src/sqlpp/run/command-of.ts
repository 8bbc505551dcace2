// Converts statements that the query service runs itself, without a plan of the engine, to commands with resolved names.
import { type KeyspaceName, scopeKeyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import { freeName } from '../plan/free-names.ts';
import type { Resolver } from '../plan/resolver.ts';
import { formatExpression } from '../text/format.ts';
import type { CreateFunction, GrantRoles } from '../tree/definition.ts';
import type { FunctionName as FunctionPath } from '../tree/expression.ts';
import type { KeyspacePath } from '../tree/query.ts';
import type { PlainStatement } from '../tree/statement.ts';
import type { FunctionName } from './commands.ts';
import type { Command, Privilege } from './engine.ts';

interface ResolvedCommand {
  readonly command: Command;
  readonly privileges: readonly Privilege[];
}

/** Statements that the query service runs itself. */
type ServiceStatement = Exclude<
  PlainStatement,
  {
    kind:
      | 'select'
      | 'insert'
      | 'upsert'
      | 'update'
      | 'delete'
      | 'merge'
      | 'infer'
      | 'create index'
      | 'drop index'
      | 'alter index'
      | 'build indexes'
      | 'update statistics';
  }
>;

export function commandOf(resolver: Resolver, tree: ServiceStatement): ResolvedCommand {
  switch (tree.kind) {
    case 'create scope':
    case 'drop scope': {
      const [bucket, scope] = scopePath(resolver, tree.path);
      const hasIfClause = tree.kind === 'create scope' ? tree.ifNotExists : tree.ifExists;
      const kind = tree.kind === 'create scope' ? 'CREATE_SCOPE' : 'DROP_SCOPE';
      const keyspace = scopeKeyspace({ bucket, scope });
      return { command: { kind, bucket, scope, hasIfClause }, privileges: [{ action: 'scope', keyspace }] };
    }
    case 'create collection':
    case 'drop collection':
    case 'flush collection': {
      const keyspace = resolver.keyspaceName(tree.path);
      const hasIfClause =
        tree.kind === 'create collection'
          ? tree.ifNotExists
          : tree.kind === 'drop collection' && tree.ifExists;
      const kinds = {
        'create collection': 'CREATE_COLLECTION',
        'drop collection': 'DROP_COLLECTION',
        'flush collection': 'FLUSH_COLLECTION',
      } as const;
      return {
        command: { kind: kinds[tree.kind], keyspace, hasIfClause },
        privileges: [{ action: 'scope', keyspace }],
      };
    }
    case 'grant':
    case 'revoke':
      return { command: grantOf(resolver, tree), privileges: [{ action: 'grant' }] };
    case 'create function':
      return {
        command: functionOf(resolver, tree),
        privileges: privilegesToCreate(resolver, tree),
      };
    case 'drop function':
      return {
        command: {
          kind: 'DROP_FUNCTION',
          name: functionName(resolver, tree.name),
          hasIfClause: tree.ifExists,
        },
        privileges: [
          functionPrivilege(resolver, tree, manageActions[kindOfExisting(resolver, tree) ?? 'inline']),
        ],
      };
    case 'execute function':
      return {
        command: {
          kind: 'EXECUTE_FUNCTION',
          name: functionName(resolver, tree.name),
          isKnown: kindOfExisting(resolver, tree) !== undefined,
          arguments: tree.arguments.map((argument) => formatExpression(argument)),
        },
        privileges: [
          functionPrivilege(resolver, tree, executeActions[kindOfExisting(resolver, tree) ?? 'inline']),
        ],
      };
    case 'begin transaction':
      return transaction({ kind: 'START_TRANSACTION' });
    case 'commit transaction':
      return transaction({ kind: 'COMMIT' });
    case 'rollback transaction':
      return transaction({
        kind: 'ROLLBACK',
        ...(tree.savepoint !== undefined && { savepoint: tree.savepoint }),
      });
    case 'savepoint':
      return transaction({ kind: 'SAVEPOINT', name: tree.name });
    case 'set transaction isolation':
      return transaction({ kind: 'SET_TRANSACTION_ISOLATION', isolation: 'READ COMMITTED' });
  }
}

function transaction(command: Command): ResolvedCommand {
  return { command, privileges: [{ action: 'transaction' }] };
}

function scopePath(resolver: Resolver, { namespace, parts }: KeyspacePath): [bucket: string, scope: string] {
  const [first = '', second] = parts;
  if (second !== undefined) return [first, second];
  const context = namespace === undefined ? resolver.queryContext : undefined;
  if (!context) throw sqlError(3100, `A scope is named with its bucket, as in \`bucket\`.\`${first}\``);
  return [context.bucket, first];
}

function grantOf(resolver: Resolver, tree: GrantRoles): Command {
  return {
    kind: tree.kind === 'grant' ? 'GRANT_ROLE' : 'REVOKE_ROLE',
    roles: tree.roles,
    targets: tree.on.map((path) => targetOf(resolver, path)),
    users: tree.users,
  };
}

/** The target of a role: a bucket, a scope or a collection. */
function targetOf(resolver: Resolver, path: KeyspacePath): KeyspaceName {
  const [bucket = '', scope = '', collection = ''] = path.parts;
  if (path.parts.length === 1 && resolver.queryContext && path.namespace === undefined)
    return resolver.keyspaceName(path);
  return { namespace: 'default', bucket, scope, collection };
}

/** A namespace without a scope names a global function, whatever the query context. */
function functionName(resolver: Resolver, { namespace, parts }: FunctionPath): FunctionName {
  if (parts.length === 3) {
    const [bucket = '', scope = '', name = ''] = parts;
    return { namespace: namespace ?? 'default', bucket, scope, name };
  }
  const context = namespace === undefined ? resolver.queryContext : undefined;
  return { namespace: namespace ?? 'default', bucket: '', scope: '', ...context, name: parts.at(-1) ?? '' };
}

type FunctionKind = keyof typeof manageActions;

const manageActions = { inline: 'function', external: 'external function' } as const;
const executeActions = { inline: 'execute function', external: 'execute external function' } as const;

/** The kind of the function with this name; undefined: there is none. */
function kindOfExisting(resolver: Resolver, tree: { readonly name: FunctionPath }): FunctionKind | undefined {
  const { bucket, scope, name } = functionName(resolver, tree.name);
  const language = resolver.functionLanguage([bucket, scope, name]);
  return language === 'javascript' ? 'external' : language;
}

/** A function that replaces one of the other kind needs the right to both. */
function privilegesToCreate(resolver: Resolver, tree: CreateFunction): Privilege[] {
  const created: FunctionKind = tree.body.language === 'inline' ? 'inline' : 'external';
  const replaced = tree.isReplacing ? kindOfExisting(resolver, tree) : undefined;
  const kinds = new Set([created, replaced ?? created]);
  return [...kinds].map((kind) => functionPrivilege(resolver, tree, manageActions[kind]));
}

function functionPrivilege(
  resolver: Resolver,
  tree: { readonly name: FunctionPath },
  action: (typeof manageActions | typeof executeActions)[FunctionKind],
): Privilege {
  const { bucket, scope } = functionName(resolver, tree.name);
  return bucket === '' ? { action } : { action, keyspace: scopeKeyspace({ bucket, scope }) };
}

function functionOf(resolver: Resolver, tree: CreateFunction): Command {
  const { body } = tree;
  if (body.language === 'golang') throw sqlError(10100, 'golang');
  if (body.language === 'inline') {
    const name = freeName(body.expression, new Set(tree.parameters ?? ['args']));
    if (name !== undefined)
      throw sqlError(10103, tree.name.parts.at(-1) ?? '', `Ambiguous reference to field '${name}'`);
  }
  return {
    kind: 'CREATE_FUNCTION',
    name: functionName(resolver, tree.name),
    parameters: tree.parameters ?? [],
    isVariadic: tree.parameters === undefined,
    language: body.language,
    body: body.language === 'inline' ? body.text : body.object,
    ...(body.language !== 'inline' && { library: body.library }),
    replaces: tree.isReplacing,
    hasIfClause: tree.ifNotExists,
  };
}
