// User-defined functions in a query thread. Statements find them by a path, or by a name in the scope of the query context and
// then among the global ones.
import type { UserFunction, UserFunctions } from '#sqlpp/run/engine.ts';
import type { FunctionDefinition, FunctionScope } from '../query.contract.ts';

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
  lookupFor(queryContext: FunctionScope): UserFunctions {
    return { find: (path) => this.find(path, queryContext) };
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
    return { language: 'inline', parameters, isVariadic, body, ...(found.scope && { scope: found.scope }) };
  }
}

const keyOf = (scope: FunctionScope, name: string): string =>
  scope === null ? `\0\0${name}` : `${scope.bucket}\0${scope.scope}\0${name}`;
