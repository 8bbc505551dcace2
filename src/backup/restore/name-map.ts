// Where buckets, scopes and collections of a backup go: the rules of `--map a=b`.
import { ArchiveError } from '../format/archive-error.ts';
import type { BucketRecord } from '../format/manifest.ts';

export interface MappedName {
  readonly bucket: string;
  readonly scope: string;
  readonly collection: string;
}

/** One to three names: bucket, scope, collection. */
type Path = readonly string[];

export class NameMap {
  private readonly rules: readonly { from: Path; to: Path }[];

  /**
   * Names of buckets may contain dots, so the left side is compared with what the backup has.
   * @throws ArchiveError for a rule that nothing in the backup matches
   */
  constructor(texts: readonly string[], buckets: readonly BucketRecord[]) {
    const paths = buckets.flatMap(pathsOf);
    this.rules = texts.map((text) => ruleOf(text, paths));
    for (const [index, { from }] of this.rules.entries())
      if (this.rules.findIndex((rule) => rule.from.join('.') === from.join('.')) < index)
        throw new ArchiveError(`--map: ${from.join('.')} is mapped twice`);
  }

  get isEmpty(): boolean {
    return this.rules.length === 0;
  }

  /** @throws ArchiveError where two collections have one target: documents of one would replace or delete those of the other */
  checkTargets(buckets: readonly BucketRecord[]): void {
    const sources = new Map<string, string>();
    for (const { name: bucket, collections } of buckets)
      for (const { scope, name: collection } of collections) {
        const target = pathOf(this.targetOf({ bucket, scope, collection }));
        const source = pathOf({ bucket, scope, collection });
        const other = sources.get(target);
        if (other !== undefined)
          throw new ArchiveError(
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
      const path = names.slice(0, depth).join('.');
      const rule = this.rules.find(({ from }) => from.length === depth && from.join('.') === path);
      if (rule === undefined) continue;
      const [toBucket, toScope = scope, toCollection = collection] = rule.to as [string, string?, string?];
      return { bucket: toBucket, scope: toScope, collection: toCollection };
    }
    return { bucket, scope, collection };
  }
}

export const pathOf = ({ bucket, scope, collection }: MappedName): string =>
  `${bucket}.${scope}.${collection}`;

const pathsOf = ({ name, scopes, collections }: BucketRecord): Path[] => [
  [name],
  ...scopes.map((scope) => [name, scope]),
  ...collections.map((collection) => [name, collection.scope, collection.name]),
];

function ruleOf(text: string, paths: readonly Path[]): { from: Path; to: Path } {
  const [left = '', right = '', ...rest] = text.split('=');
  if (left === '' || right === '' || rest.length > 0)
    throw new ArchiveError(`--map: "${text}" is not of the form a=b, such as travel=travel2`);
  const from = paths.find((path) => path.join('.') === left);
  if (from === undefined)
    throw new ArchiveError(`--map: the backup has no bucket, scope or collection "${left}"`);
  const parts = right.split('.');
  const inner = from.length === 1 ? [] : parts.slice(1 - from.length);
  const bucket = parts.slice(0, parts.length - inner.length).join('.');
  if (bucket === '' || inner.length !== from.length - 1 || inner.includes(''))
    throw new ArchiveError(`--map: "${right}" must have as many names as "${left}"`);
  return { from, to: [bucket, ...inner] };
}
