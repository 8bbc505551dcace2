// User-defined functions in a query thread. Statements find them by a path, or by a name in the scope of the query context and
// then among the global ones.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { ExternalFunction, UserFunction, UserFunctions } from '#sqlpp/run/engine.ts';
import type { Value } from '#sqlpp/values/value.ts';
import type { FunctionDefinition, FunctionScope } from '../query.contract.ts';

/** Runs a function that is in another language than SQL++. */
type CallExternal = (definition: FunctionDefinition, values: readonly Value[]) => Promise<Value>;

export class KnownFunctions {
  /** Incremented by every change. */
  revision = 0;
  private byKey = new Map<string, FunctionDefinition>();

  set(definitions: readonly FunctionDefinition[]): void {
    this.byKey = new Map(
      definitions.map((definition) => [keyOf(definition.scope, definition.name), definition]),
    );
    this.revision++;
  }

  all(): FunctionDefinition[] {
    return [...this.byKey.values()];
  }

  /** Lookup for statements with this query context. */
  lookupFor(queryContext: FunctionScope, call?: CallExternal): UserFunctions {
    return {
      find: (path) => this.find(path, queryContext),
      ...(call && { call: (external, values) => this.call(external, values, call) }),
    };
  }

  private async call(
    { name, scope }: ExternalFunction,
    values: readonly Value[],
    call: CallExternal,
  ): Promise<Value> {
    const definition = this.byKey.get(keyOf(scope ?? null, name));
    if (definition === undefined) throw sqlError(10101, name);
    return await call(definition, values);
  }

  private find(path: readonly string[], queryContext: FunctionScope): UserFunction | undefined {
    const [bucket = '', scope = '', name = ''] = path;
    const found =
      path.length === 3
        ? this.byKey.get(keyOf({ bucket, scope }, name))
        : (this.byKey.get(keyOf(queryContext, path.at(-1) ?? '')) ??
          this.byKey.get(keyOf(null, path.at(-1) ?? '')));
    if (found === undefined) return undefined;
    const { parameters, isVariadic, body } = found;
    const language = found.library === undefined ? 'inline' : 'javascript';
    return { language, parameters, isVariadic, body, ...(found.scope && { scope: found.scope }) };
  }
}

const keyOf = (scope: FunctionScope, name: string): string =>
  scope === null ? `\0\0${name}` : `${scope.bucket}\0${scope.scope}\0${name}`;
