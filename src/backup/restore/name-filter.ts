// Which buckets, scopes and collections of a backup are restored.
import { ArchiveError } from '../format/archive-error.ts';
import type { BucketRecord } from '../format/manifest.ts';

export interface NameFilter {
  /** `bucket`, `bucket.scope` or `bucket.scope.collection`; empty: all. */
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
}

/** The records with the chosen collections only. @throws ArchiveError for a name that the backup does not have */
export function filterNames(
  records: readonly BucketRecord[],
  { includes, excludes }: NameFilter,
): BucketRecord[] {
  if (includes.length === 0 && excludes.length === 0) return [...records];
  const known = new Set(records.flatMap(pathsIn));
  const unknown = [...includes, ...excludes].find((path) => !known.has(path));
  if (unknown !== undefined)
    throw new ArchiveError(`the backup has no bucket, scope or collection "${unknown}"`);
  const isChosen = (...path: string[]): boolean => {
    const prefixes = path.map((_, index) => path.slice(0, index + 1).join('.'));
    const isIncluded = includes.length === 0 || prefixes.some((prefix) => includes.includes(prefix));
    return isIncluded && !prefixes.some((prefix) => excludes.includes(prefix));
  };
  return records.flatMap((record) => {
    const collections = record.collections.filter(({ scope, name }) => isChosen(record.name, scope, name));
    const scopes = record.scopes.filter(
      (scope) => isChosen(record.name, scope) || collections.some((collection) => collection.scope === scope),
    );
    return collections.length === 0 && scopes.length === 0 ? [] : [{ ...record, collections, scopes }];
  });
}

const pathsIn = ({ name, scopes, collections }: BucketRecord): string[] => [
  name,
  ...scopes.map((scope) => `${name}.${scope}`),
  ...collections.map((collection) => `${name}.${collection.scope}.${collection.name}`),
];
