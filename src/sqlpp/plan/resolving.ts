// What the steps of name resolution share.
import type { KeyspaceName } from '../datastore/keyspace.ts';
import { nearText } from '../text/positions.ts';
import type { Expression, KeyspacePath, Select, Subquery, UserCall } from '../tree/query.ts';
import type { Block } from './block.ts';
import type { KeyspaceRef, LogicalSelect } from './logical.ts';
import type { Privilege } from './privilege.ts';
import type { Scope } from './scope.ts';

export interface Resolving {
  readonly text: string;
  expression(node: Expression, scope: Scope): Expression;
  select(select: Select, scope: Scope): LogicalSelect;
  keyspace(path: KeyspacePath, action?: Privilege['action']): KeyspaceRef;
  keyspaceName(path: KeyspacePath): KeyspaceName;
  /** The path of a keyspace that a parameter names. */
  namedPath(name: Expression): KeyspacePath | undefined;
  /** The body of a function that a user defined in SQL++, with its parameters in slots; undefined: it is in another language. */
  inlineFunction(call: UserCall): InlineFunction | undefined;
}

export interface InlineFunction {
  readonly block: Block;
  readonly parameters: readonly number[];
  /** All arguments as an array: `(...)`. */
  readonly variadicSlot: number | undefined;
  readonly body: Expression;
}

/** A call whose function's body is resolved. */
export interface InlineCall extends UserCall {
  readonly inline: InlineFunction;
}

export function isInline(node: UserCall): node is InlineCall {
  return 'inline' in node;
}

/** A subquery whose names are resolved. `correlation` gives, in the outer block, the values of the inner block's captures. */
export interface ResolvedSubquery extends Subquery {
  readonly logical: LogicalSelect;
  readonly correlation: readonly Expression[];
}

export function isResolved(node: Subquery): node is ResolvedSubquery {
  return 'logical' in node;
}

/** ` (near line 1, column 8)`, as messages end; nothing for what is not in the text. */
export function near(text: string, at: number): string {
  return at < 0 ? '' : nearText(text, at);
}
