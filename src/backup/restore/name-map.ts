// Where buckets, scopes and collections of a backup go: the rules of `--map a=b`.
import { BackupError } from '../format/backup-error.ts';
import type { BucketRecord } from '../format/manifest.ts';
import { exactNames, type NamePath, namePathsOf, pathNamed } from './name-path.ts';

export interface MappedName {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

export class NameMap {
  private readonly rules: readonly { from: NamePath; to: NamePath }[];

  /**
   * Names of buckets may contain dots, so the left side is compared with what the backup has.
   * @throws BackupError for a rule that nothing in the backup matches, or two things do
   */
  constructor(texts: readonly string[], buckets: readonly BucketRecord[]) {
    const paths = buckets.flatMap(namePathsOf);
    this.rules = texts.map((text) => ruleOf(text, paths));
    for (const [index, { from }] of this.rules.entries())
      if (this.rules.findIndex((rule) => isSame(rule.from, from)) < index)
        throw new BackupError(`--map: ${from.join('.')} is mapped twice`);
  }

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** @throws BackupError where two collections have one target: documents of one would replace or delete those of the other */
  checkTargets(buckets: readonly BucketRecord[]): void {
    const sources = new Map<string, string>();
    for (const { name: bucket, collections } of buckets)
      for (const { scope, name: collection } of collections) {
        const target = pathOf(this.targetOf({ bucket, scope, collection }));
        const source = pathOf({ bucket, scope, collection });
        const other = sources.get(target);
        if (other !== undefined)
          throw new BackupError(
            `--map: ${other} and ${source} would both be restored to ${target}, where documents of one would replace those of the other; map one of them to another collection, or leave it out of this restore`,
          );
        sources.set(target, source);
      }
  }

  /** Where a scope goes, by the rules about it and its bucket. */
  scopeOf(bucket: string, scope: string): { bucket: string; scope: string } {
    // No collection has an empty name: rules about collections do not apply.
    return this.targetOf({ bucket, scope, collection: '' });
  }

  /** The most precise rule decides. */
  targetOf({ bucket, scope, collection }: MappedName): MappedName {
    const names = [bucket, scope, collection];
    for (const depth of [3, 2, 1]) {
      const path = names.slice(0, depth);
      const rule = this.rules.find(({ from }) => isSame(from, path));
      if (rule === undefined) continue;
      const [toBucket, toScope = scope, toCollection = collection] = rule.to as [string, string?, string?];
      return { bucket: toBucket, scope: toScope, collection: toCollection };
    }
    return { bucket, scope, collection };
  }
}

export const pathOf = ({ bucket, scope, collection }: MappedName): string =>
  `${bucket}.${scope}.${collection}`;

const isSame = (a: NamePath, b: NamePath): boolean =>
  a.length === b.length && a.every((name, index) => name === b[index]);

function ruleOf(text: string, paths: readonly NamePath[]): { from: NamePath; to: NamePath } {
  const [left = '', right = '', ...rest] = text.split('=');
  if (left === '' || right === '' || rest.length > 0)
    throw new BackupError(`--map: "${text}" is not of the form a=b, such as travel=travel2`);
  const from = pathNamed(left, paths);
  if (from === undefined)
    throw new BackupError(`--map: the backup has no bucket, scope or collection "${left}"`);
  const to = exactNames(right) ?? namesOf(right, from.length);
  if (to.length !== from.length || to.includes(''))
    throw new BackupError(`--map: "${right}" must have as many names as "${left}"`);
  return { from, to };
}

/** The last names are those of scope and collection; what is before them, dots included, is the bucket. */
function namesOf(text: string, count: number): NamePath {
  const parts = text.split('.');
  if (parts.length < count) return parts;
  const bucket = parts.slice(0, parts.length - count + 1).join('.');
  return [bucket, ...parts.slice(parts.length - count + 1)];
}
