// Libraries of functions in JavaScript, in a query thread, and the paths by which CREATE FUNCTION names them.
import type { FunctionLibrary, FunctionScope } from '../query.contract.ts';

export class KnownLibraries {
  /** Incremented by every change. */
  revision = 0;
  private byKey = new Map<string, FunctionLibrary>();

  set(libraries: readonly FunctionLibrary[]): void {
    this.byKey = new Map(libraries.map((library) => [keyOf(library), library]));
    this.revision++;
  }

  all(): FunctionLibrary[] {
    return [...this.byKey.values()];
  }

  find(place: LibraryPlace): FunctionLibrary | undefined {
    return this.byKey.get(keyOf(place));
  }
}

export type LibraryPlace = Pick<FunctionLibrary, 'scope' | 'name'>;

/**
 * The library that `path` names for a function of this scope: `name` is global, `./name` in the scope of the function, as is
 * `bucket/scope/name`, which must be this scope. Null: no function of this scope may use the path.
 */
export function libraryPlace(path: string, scope: FunctionScope): LibraryPlace | null {
  const steps = path.split('/');
  const name = steps.at(-1) ?? '';
  if (name === '') return null;
  if (steps.length === 1) return { scope: null, name };
  // Without a scope, `./` is the global place.
  if (steps.length === 2 && steps[0] === '.') return { scope, name };
  const isOwnScope = steps.length === 3 && scope?.bucket === steps[0] && scope?.scope === steps[1];
  return isOwnScope ? { scope, name } : null;
}

/** As a path names it: `name` or `bucket/scope/name`. */
export const libraryPath = ({ scope, name }: LibraryPlace): string =>
  scope === null ? name : `${scope.bucket}/${scope.scope}/${name}`;

const keyOf = ({ scope, name }: LibraryPlace): string => JSON.stringify([scope?.bucket, scope?.scope, name]);
