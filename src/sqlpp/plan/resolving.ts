// What the files of name resolution (`resolve-*.ts`, `grouping.ts`) need of the resolver, and the nodes that name resolution adds to a tree.
import type { KeyspaceName } from '../datastore/keyspace.ts';
import { nearText } from '../text/positions.ts';
import type { Expression, FunctionName, Subquery, UserCall } from '../tree/expression.ts';
import { notInText } from '../tree/identifier.ts';
import type { KeyspacePath, Select } from '../tree/query.ts';
import type { Block } from './block.ts';
import type { KeyspaceRef, LogicalSelect } from './logical.ts';
import type { Privilege } from './privilege.ts';
import type { Scope } from './scope.ts';

export interface NameResolver {
  /** The statement. */
  readonly text: string;
  expression(node: Expression, scope: Scope): Expression;
  select(select: Select, scope: Scope): LogicalSelect;
  /** The keyspace of the path; the statement then requires the privilege for the action, by default `select`. */
  keyspace(path: KeyspacePath, action?: Privilege['action']): KeyspaceRef;
  /** Whether the statement, as far as it is resolved, reads the keyspace in another place than as the target of its changes. */
  reads(name: KeyspaceName): boolean;
  /** Adds a required privilege. */
  require(action: Privilege['action']): void;
  /** The full name of the path, which may be relative to the query context. */
  keyspaceName(path: KeyspacePath): KeyspaceName;
  /** The keyspace path that the value of the expression, a parameter for example, names; undefined if that value is not known or no string. */
  namedPath(name: Expression): KeyspacePath | undefined;
  /** The user-defined function of a call. */
  userFunction(call: UserCall): Pick<InlineCall, 'inline'> | Pick<ExternalCall, 'external'>;
}

/** The name of a function in messages. */
export function functionText({ namespace, parts }: FunctionName): string {
  return namespace !== undefined && parts.length === 1 ? `${namespace}:${parts[0]}` : parts.join('.');
}

/** The body of a SQL++ function, with its parameters in slots: one object for all calls of the function in a statement. */
export interface InlineFunction {
  readonly block: Block;
  /** The slot of each parameter. */
  readonly parameters: readonly number[];
  /** The slot of the array of all arguments; absent unless the function is declared with `(...)`. */
  readonly variadicSlot: number | undefined;
  readonly body: Expression;
}

/** A call with the resolved body of its function. */
export interface InlineCall extends UserCall {
  readonly inline: InlineFunction;
}

export function isInline(node: UserCall): node is InlineCall {
  return 'inline' in node;
}

/** A function in another language than SQL++, by its full name, for which the privileges were checked. */
export interface ExternalFunction {
  readonly name: string;
  /** Absent for a global function. */
  readonly scope?: { readonly bucket: string; readonly scope: string };
}

/** A call of a function in another language. */
export interface ExternalCall extends UserCall {
  readonly external: ExternalFunction;
}

export function isExternal(node: UserCall): node is ExternalCall {
  return 'external' in node;
}

/** A resolved subquery. `correlation` has the outer expressions of the values that the inner block captures. */
export interface ResolvedSubquery extends Subquery {
  readonly logical: LogicalSelect;
  readonly correlation: readonly Expression[];
}

export function isResolved(node: Subquery): node is ResolvedSubquery {
  return 'logical' in node;
}

/** The suffix ` (near line 1, column 8)` of messages; empty for nodes that are not in the text. */
export function near(text: string, at: number): string {
  return at === notInText ? '' : nearText(text, at);
}
