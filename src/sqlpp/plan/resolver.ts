// Name resolution: makes queries over slots of the syntax tree, and collects the keyspaces and privileges that the statement needs.
import { resultOf, type WorkSteps } from '#base/steps.ts';
import { type Keyspace, type KeyspaceName, keyspaceText, scopeKeyspace } from '../datastore/keyspace.ts';
import { sqlError } from '../errors/sql-error.ts';
import { parseExpression } from '../text/parser.ts';
import type { Expression, FunctionName, UserCall } from '../tree/expression.ts';
import { identifierOf } from '../tree/identifier.ts';
import type { KeyspacePath, Select } from '../tree/query.ts';
import { Block } from './block.ts';
import type { KeyspaceRef, LogicalSelect } from './logical.ts';
import type { Privilege } from './privilege.ts';
import { resolveExpression } from './resolve-expression.ts';
import { resolveSelect } from './resolve-select.ts';
import { functionText, type InlineFunction, type NameResolver, near } from './resolving.ts';
import { Scope, slotOf } from './scope.ts';

/** The part of the datastore that name resolution needs. */
export interface Directory {
  find(name: KeyspaceName): Keyspace | 'no bucket' | 'no scope' | 'no collection';
  /** The tables of the system catalog. */
  readonly catalog: { has(collection: string): boolean };
}

/** User-defined functions. */
export interface Functions {
  /** `path`: bucket, scope and name, the first two empty for a global function; or the name as the statement has it. */
  find(path: readonly string[]): FoundFunction | undefined;
  /** Calls of functions in other languages are refused, as in the community edition. */
  readonly refusesExternal?: boolean;
}

interface FoundFunction {
  readonly parameters: readonly string[];
  readonly isVariadic: boolean;
  readonly language: 'inline' | 'javascript';
  readonly body: string;
  /** The scope of the function; absent for a global one. */
  readonly scope?: { readonly bucket: string; readonly scope: string };
}

/** The value of an expression that reads no row; undefined if it is not known before the statement runs. */
export type ConstantOf = (expression: Expression) => { readonly value: unknown } | undefined;

/** The scope to which paths of one name are relative. */
export interface QueryContext {
  readonly bucket: string;
  readonly scope: string;
}

export class Resolver implements NameResolver {
  readonly text: string;
  /** All keyspaces of the statement, by `keyspaceText`. */
  readonly keyspaces = new Map<string, KeyspaceRef>();
  /** The privileges that the statement requires, by `privilegeKey`. */
  readonly privileges = new Map<string, Privilege>();
  readonly queryContext: QueryContext | undefined;
  readonly #directory: Directory;
  readonly #functions: Functions | undefined;
  readonly #constantOf: ConstantOf | undefined;
  /** SQL++ functions with resolved bodies, by `functionKey`. */
  readonly #inlined = new Map<string, InlineFunction>();
  /** The keys of the SQL++ functions whose bodies are being resolved. */
  readonly #inlining = new Set<string>();

  constructor(
    text: string,
    directory: Directory,
    queryContext: QueryContext | undefined,
    functions?: Functions,
    constantOf?: ConstantOf,
  ) {
    this.text = text;
    this.#functions = functions;
    this.#constantOf = constantOf;
    this.#directory = directory;
    this.queryContext = queryContext;
  }

  expression(node: Expression, scope: Scope): Expression {
    return resolveExpression(this, node, scope);
  }

  select(select: Select, scope: Scope | undefined): LogicalSelect {
    return resultOf(this.selectSteps(select, scope));
  }

  selectSteps(select: Select, scope: Scope | undefined): WorkSteps<LogicalSelect> {
    return resolveSelect(this, select, scope);
  }

  keyspace(path: KeyspacePath, action: Privilege['action'] = 'select'): KeyspaceRef {
    const name = this.keyspaceName(path);
    const text = keyspaceText(name);
    this.require(action, name);
    const cached = this.keyspaces.get(text);
    if (cached?.keyspace) return cached;
    const ref = { name, keyspace: this.#find(name) };
    if (!ref.keyspace && (action === 'insert' || action === 'update'))
      throw sqlError(11003, `${action.toUpperCase()} on ${text}`);
    this.keyspaces.set(text, ref);
    return ref;
  }

  reads(name: KeyspaceName): boolean {
    return this.privileges.has(privilegeKey('select', name));
  }

  require(action: Privilege['action'], keyspace?: KeyspaceName): void {
    this.privileges.set(privilegeKey(action, keyspace), keyspace ? { action, keyspace } : { action });
  }

  #find(name: KeyspaceName): Keyspace | undefined {
    if (name.namespace === 'system') {
      if (!this.#directory.catalog.has(name.collection)) throw sqlError(11002, name.collection);
      return undefined;
    }
    const found = this.#directory.find(name);
    if (typeof found !== 'string') return found;
    const { bucket, scope } = name;
    // Clients recognize a missing bucket by this code and text, which name the bucket also where a collection was meant.
    if (found === 'no bucket') throw sqlError(12003, `default:${bucket} - cause: No bucket named ${bucket}`);
    if (found === 'no scope') throw sqlError(12021, `default:${bucket}.${scope}`);
    throw sqlError(12003, keyspaceText(name));
  }

  namedPath(name: Expression): KeyspacePath | undefined {
    const value = this.#constantOf?.(name)?.value;
    if (typeof value !== 'string') return undefined;
    const [, namespace, rest = ''] = /^(?:(\w+):)?(.*)$/s.exec(value) ?? [];
    const parts = [...rest.matchAll(/`([^`]+)`|([^.`]+)/g)].map((match) => match[1] ?? match[2] ?? '');
    return { namespace, parts, at: name.at };
  }

  userFunction({ name, at, arguments: args }: UserCall): ReturnType<NameResolver['userFunction']> {
    const path = name.parts.join('.');
    const isGlobal = name.namespace !== undefined && name.parts.length === 1;
    const found = this.#functions?.find(isGlobal ? ['', '', path] : name.parts);
    if (!found)
      throw sqlError(
        3000,
        `Invalid function ${path}${near(this.text, at)} (resolving to ${name.namespace ?? 'default'}:${path})`,
      );
    const isExternal = found.language !== 'inline';
    if (isExternal && this.#functions?.refusesExternal) throw sqlError(10100, found.language);
    const action = isExternal ? 'execute external function' : 'execute function';
    this.require(action, found.scope && scopeKeyspace(found.scope));
    if (!found.isVariadic && found.parameters.length !== args.length) throw sqlError(10104, path);
    if (!isExternal) return { inline: this.#inlineFunction(name, found) };
    return { external: { name: name.parts.at(-1) ?? '', ...(found.scope && { scope: found.scope }) } };
  }

  /** The language of the function with this full name: bucket and scope are empty for a global one. */
  functionLanguage(path: readonly [string, string, string]): FoundFunction['language'] | undefined {
    return this.#functions?.find(path)?.language;
  }

  #inlineFunction(name: FunctionName, found: FoundFunction): InlineFunction {
    const key = functionKey(name);
    const cached = this.#inlined.get(key);
    if (cached) return cached;
    if (this.#inlining.has(key)) throw sqlError(10109, functionText(name), 'it calls itself');
    this.#inlining.add(key);
    const scope = new Scope(new Block(), undefined);
    const bind = (parameter: string): number => {
      const slot = scope.block.allocate();
      scope.bindVariable(parameter, slotOf(slot, identifierOf(parameter)));
      return slot;
    };
    const inline: InlineFunction = {
      block: scope.block,
      parameters: found.isVariadic ? [] : found.parameters.map(bind),
      variadicSlot: found.isVariadic ? bind('args') : undefined,
      body: this.expression(parseExpression(found.body), scope),
    };
    this.#inlining.delete(key);
    this.#inlined.set(key, inline);
    return inline;
  }

  keyspaceName({ namespace, parts }: KeyspacePath): KeyspaceName {
    const [first = '', second = '', third = ''] = parts;
    const lower = namespace?.toLowerCase();
    if (lower === '#system' || lower === 'system')
      return { namespace: 'system', bucket: '', scope: '', collection: first };
    if (namespace !== undefined && namespace !== 'default') throw sqlError(12002, namespace);
    if (parts.length === 3) return { namespace: 'default', bucket: first, scope: second, collection: third };
    if (parts.length !== 1) throw sqlError(10200, parts.join('.'));
    const context = namespace === undefined ? this.queryContext : undefined;
    if (context) return { namespace: 'default', ...context, collection: first };
    return { namespace: 'default', bucket: first, scope: '_default', collection: '_default' };
  }
}

/** Identifies a function in a statement. Names may contain dots, and `f` and `default:f` are two functions where the query context has one of that name. */
function functionKey({ namespace, parts }: FunctionName): string {
  return JSON.stringify(parts.length === 1 ? [namespace, ...parts] : parts);
}

const privilegeKey = (action: Privilege['action'], keyspace: KeyspaceName | undefined): string =>
  `${action} ${keyspace ? keyspaceText(keyspace) : ''}`;
