// What a restore would change: the documents of a backup and of those that it continues, beside what the cluster has now.
import { type BackedUpBucket, type Backup, isFullBackup } from './backup-answers.ts';

export interface PresentBucket {
  readonly documents: number;
  /** Collections as `scope.collection`. */
  readonly collections: ReadonlySet<string>;
}

export interface RestoreChoice {
  readonly createsBuckets: boolean;
  /** Versions of the backup take the place of newer ones. */
  readonly isForced: boolean;
}

export interface CollectionPreview {
  /** `bucket.scope.collection`. */
  readonly path: string;
  /**
   * The sum over all backups that the restore reads, although it writes only the newest version of each document. Null if one of the
   * backups is of a version that did not count documents.
   */
  readonly documentsMax: number | null;
  /** Documents of the whole bucket now; null: there is no such bucket. */
  readonly present: number | null;
  readonly effect: string;
}

export interface RestorePreview {
  readonly collections: readonly CollectionPreview[];
  /** Buckets that are missing and would not be created: the restore is refused. */
  readonly missing: readonly string[];
  readonly deletionsMax: number;
}

/** `backups` are those of the repository, the oldest first. */
export function previewOf(
  backups: readonly Backup[],
  name: string,
  present: ReadonlyMap<string, PresentBucket>,
  choice: RestoreChoice,
): RestorePreview {
  const chain = chainOf(backups, name);
  const chosen = chain.at(-1)?.buckets ?? [];
  const missing = chosen.filter((bucket) => !present.has(bucket.name)).map((bucket) => bucket.name);
  return {
    collections: chosen.flatMap((bucket) =>
      collectionsOf(bucket).map((collection) => {
        const now = present.get(bucket.name);
        return {
          path: `${bucket.name}.${collection}`,
          documentsMax: documentsIn(chain, bucket.name, collection),
          present: now?.documents ?? null,
          effect: effectOn(now, collection, choice),
        };
      }),
    ),
    missing: choice.createsBuckets ? [] : missing,
    deletionsMax: sum(chain.flatMap(({ buckets }) => buckets).map(({ tombstones }) => tombstones)),
  };
}

/** The backup and those that it continues, the oldest first. */
function chainOf(backups: readonly Backup[], name: string): readonly Backup[] {
  const complete = backups.filter((backup) => backup.complete && backup.date <= name);
  return complete.slice(Math.max(0, complete.findLastIndex(isFullBackup)));
}

const collectionsOf = ({ scopes }: BackedUpBucket): string[] =>
  Object.entries(scopes).flatMap(([scope, { collections }]) =>
    Object.values(collections).map(({ name }) => `${scope}.${name}`),
  );

function documentsIn(chain: readonly Backup[], bucket: string, path: string): number | null {
  const counts = chain
    .flatMap(({ buckets }) => buckets.filter(({ name }) => name === bucket))
    .flatMap(({ scopes }) => Object.entries(scopes))
    .flatMap(([scope, { collections }]) =>
      Object.values(collections).filter(({ name }) => `${scope}.${name}` === path),
    )
    .map(({ items }) => items);
  return counts.includes(undefined) ? null : sum(counts as number[]);
}

function effectOn(now: PresentBucket | undefined, collection: string, choice: RestoreChoice): string {
  if (now === undefined) return choice.createsBuckets ? 'bucket is created' : 'none: no such bucket';
  if (!now.collections.has(collection))
    // The default collection cannot be created again once it is dropped.
    return collection === '_default._default' ? 'none: was dropped' : 'collection is created';
  return choice.isForced ? 'all are written' : 'new ones are written';
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
