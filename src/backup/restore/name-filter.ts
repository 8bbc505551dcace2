// Which buckets, scopes and collections of a backup are restored.
import { ArchiveError } from '../format/archive-error.ts';
import type { BucketRecord } from '../format/manifest.ts';
import { indexKeyspace } from './index-definition.ts';

export interface ChosenNames {
  /** `bucket`, `bucket.scope` or `bucket.scope.collection`; empty: all. */
  readonly includes: readonly string[];
  readonly excludes: readonly string[];
}

/** The names of a bucket, a scope in it, and a collection in that. */
type Path = readonly [bucket: string, scope?: string, collection?: string];

export class NameFilter {
  private readonly includes: readonly string[];
  private readonly excludes: readonly string[];

  constructor({ includes, excludes }: ChosenNames) {
    this.includes = includes;
    this.excludes = excludes;
  }

  /** `earlier`: records whose names may be excluded too. @throws ArchiveError for a name that the backup does not have */
  checkNames(records: readonly BucketRecord[], earlier: readonly BucketRecord[] = []): void {
    if (this.includes.length === 0 && this.excludes.length === 0) return;
    const known = new Set(records.flatMap(pathsIn));
    const excludable = new Set([...known, ...earlier.flatMap(pathsIn)]);
    const unknown =
      this.includes.find((path) => !known.has(path)) ?? this.excludes.find((path) => !excludable.has(path));
    if (unknown !== undefined)
      throw new ArchiveError(`the backup has no bucket, scope or collection "${unknown}"`);
  }

  chooses(...path: Path): boolean {
    const prefixes = path.map((_, index) => path.slice(0, index + 1).join('.'));
    const isIncluded =
      this.includes.length === 0 || prefixes.some((prefix) => this.includes.includes(prefix));
    return isIncluded && !prefixes.some((prefix) => this.excludes.includes(prefix));
  }

  /** Whether the filter chooses this path and everything below it. */
  choosesAll(...path: Path): boolean {
    const start = `${path.join('.')}.`;
    return this.chooses(...path) && !this.excludes.some((excluded) => excluded.startsWith(start));
  }

  /** The records with the chosen collections and their indexes only. */
  chosen(records: readonly BucketRecord[]): BucketRecord[] {
    if (this.includes.length === 0 && this.excludes.length === 0) return [...records];
    return records.flatMap((record) => {
      const { name: bucket } = record;
      const collections = record.collections.filter(({ scope, name }) => this.chooses(bucket, scope, name));
      const scopes = record.scopes.filter(
        (scope) =>
          this.chooses(bucket, scope) || collections.some((collection) => collection.scope === scope),
      );
      const indexes = record.indexes.filter((index) => {
        const keyspace = indexKeyspace(index);
        return keyspace === null || this.chooses(bucket, keyspace.scope, keyspace.collection);
      });
      return collections.length === 0 && scopes.length === 0
        ? []
        : [{ ...record, collections, scopes, indexes }];
    });
  }
}

const pathsIn = ({ name, scopes, collections }: BucketRecord): string[] => [
  name,
  ...scopes.map((scope) => `${name}.${scope}`),
  ...collections.map((collection) => `${name}.${collection.scope}.${collection.name}`),
];
