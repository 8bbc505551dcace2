// Names in scope, and their slots or expressions in a block's rows.

import type { Expression, Slot } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { Block, Source } from './block.ts';

export type NameBinding =
  | { readonly kind: 'source'; readonly source: Source }
  /** LET, LETTING, WITH and aliases of groups: the expression that replaces the name. */
  | {
      readonly kind: 'variable';
      readonly expression: Expression;
      readonly isWith: boolean;
      /** LET: the source whose document the variable is. */
      readonly document?: SourceInScope | undefined;
    }
  /** A variable of ANY, ARRAY …: remains an identifier for the compiler. */
  | { readonly kind: 'local' };

/** A source, and the scope that binds its alias. */
export interface SourceInScope {
  readonly source: Source;
  readonly owner: Scope;
}

export class Scope {
  readonly block: Block;
  readonly parent: Scope | undefined;
  readonly names = new Map<string, NameBinding>();
  /** Names that are not bound are fields of this source; undefined: they could be fields of several sources, or of none, and are refused. */
  defaultSource: Source | undefined;

  constructor(block: Block, parent: Scope | undefined) {
    this.block = block;
    this.parent = parent;
    if (parent?.block === block) this.defaultSource = parent.defaultSource;
  }

  /** A new scope within this one, in the same block. */
  inner(): Scope {
    return new Scope(this.block, this);
  }

  find(name: string): { readonly binding: NameBinding; readonly scope: Scope } | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
      const binding = scope.names.get(name);
      if (binding) return { binding, scope };
    }
    return undefined;
  }

  bindSource(source: Source): void {
    this.names.set(source.alias, { kind: 'source', source });
  }

  bindVariable(name: string, expression: Expression, isWith = false): void {
    this.names.set(name, { kind: 'variable', expression, isWith });
  }

  /** As `bindVariable`, for LET: META() of a variable that is a document is that of the document. */
  bindLet(name: string, expression: Expression, document: SourceInScope | undefined): void {
    this.names.set(name, { kind: 'variable', expression, isWith: false, document });
  }

  /** The source whose document the expression is. */
  sourceOf(node: Expression): SourceInScope | undefined {
    const found = node.kind === 'identifier' ? this.find(node.name) : undefined;
    if (found?.binding.kind === 'source') return { source: found.binding.source, owner: found.scope };
    return found?.binding.kind === 'variable' ? found.binding.document : undefined;
  }

  /** Whether the first name of a path in FROM is an alias or a variable, and not a keyspace. */
  isAlias(name: string): boolean {
    return this.#findInFrom(name) !== undefined;
  }

  /** The list of the WITH term that a FROM term of this name alone reads: an alias without AS, as of `FROM name`, does not hide the term. */
  withTerm(name: string, at: number): Expression | undefined {
    const found = this.#findInFrom(name);
    if (found?.binding.kind !== 'variable' || !found.binding.isWith) return undefined;
    return this.capture(expressionOf(found.binding, name, at), found.scope);
  }

  /** As `find`, without aliases that FROM terms have without AS: in FROM such a name is the keyspace or WITH term that it names elsewhere. */
  #findInFrom(name: string): { readonly binding: NameBinding; readonly scope: Scope } | undefined {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) {
      const binding = scope.names.get(name);
      if (binding && (binding.kind !== 'source' || binding.source.isExplicit)) return { binding, scope };
    }
    return undefined;
  }

  /** Translates an expression of the outer scope `from` to this scope's block, by capturing it. */
  capture(expression: Expression, from: Scope): Expression {
    if (from.block === this.block) return expression;
    const blocks: Block[] = [];
    let last: Block | undefined;
    for (let scope: Scope | undefined = this; scope && scope.block !== from.block; scope = scope.parent) {
      if (scope.block !== last) blocks.push(scope.block);
      last = scope.block;
    }
    return blocks.reduceRight<Expression>((outer, block) => block.capture(outer), expression);
  }

  /** The expression by which this scope's block reads the name, which is at `at` in the statement. */
  lookup(name: string, at: number): Expression | undefined {
    const found = this.find(name);
    if (!found) return undefined;
    return this.capture(expressionOf(found.binding, name, at), found.scope);
  }
}

function expressionOf(binding: NameBinding, name: string, at: number): Expression {
  const original = identifierOf(name, at);
  if (binding.kind === 'local') return original;
  if (binding.kind === 'source') return slotOf(binding.source.slot, original);
  return binding.expression;
}

/** The slot in place of the original expression, which texts still show. */
export function slotOf(slot: number, original: Expression): Slot {
  return { kind: 'slot', slot, original, at: original.at };
}

/** The document or value of the source, as its alias reads it. */
export function sourceSlot({ slot, alias }: Source): Slot {
  return slotOf(slot, identifierOf(alias));
}
