// Which buckets, scopes and collections of a backup are restored.
import { BackupError } from '../format/backup-error.ts';
import type { BucketRecord } from '../format/manifest.ts';
import { indexKeyspace } from './index-definition.ts';
import { exactNames, isNameOf, namePathsOf, pathNamed } from './name-path.ts';

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

  /**
   * `earlier`: the buckets of earlier backups of the chain; `excludes` may also name what the newest one no longer has. @throws BackupError for a
   * name that nothing in the backup has, or that two things have
   */
  checkNames(records: readonly BucketRecord[], earlier: readonly BucketRecord[] = []): void {
    if (this.includes.length === 0 && this.excludes.length === 0) return;
    const known = records.flatMap(namePathsOf);
    const excludable = [...known, ...earlier.flatMap(namePathsOf)];
    const unknown =
      this.includes.find((text) => pathNamed(text, known) === undefined) ??
      this.excludes.find((text) => pathNamed(text, excludable) === undefined);
    if (unknown !== undefined)
      throw new BackupError(`the backup has no bucket, scope or collection "${unknown}"`);
  }

  chooses(...path: Path): boolean {
    const prefixes = path.map((_, index) => path.slice(0, index + 1) as string[]);
    const isNamedBy = (texts: readonly string[]) =>
      texts.some((text) => prefixes.some((prefix) => isNameOf(text, prefix)));
    return (this.includes.length === 0 || isNamedBy(this.includes)) && !isNamedBy(this.excludes);
  }

  /** Whether the filter chooses this path and everything below it. */
  choosesAll(...path: Path): boolean {
    const start = `${path.join('.')}.`;
    const isBelow = (excluded: string) => (exactNames(excluded)?.join('.') ?? excluded).startsWith(start);
    return this.chooses(...path) && !this.excludes.some(isBelow);
  }

  /** The records with the chosen collections and their indexes only. */
  limitedToChosen(records: readonly BucketRecord[]): BucketRecord[] {
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
