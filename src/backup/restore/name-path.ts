// How requests name a bucket, a scope or a collection of a backup: `bucket.scope.collection`. Names of buckets may contain dots, so that a text can
// name two things: names in backquotes are exact.
import { BackupError } from '../format/backup-error.ts';
import type { BucketRecord } from '../format/manifest.ts';

/** One to three names: bucket, scope, collection. */
export type NamePath = readonly string[];

const exactForm = /^(?:`[^`]+`|[^.`]+)(?:\.(?:`[^`]+`|[^.`]+))*$/;
const oneName = /`([^`]+)`|([^.`]+)/g;

export const namePathsOf = ({ name, scopes, collections }: BucketRecord): NamePath[] => [
  [name],
  ...scopes.map((scope) => [name, scope]),
  ...collections.map((collection) => [name, collection.scope, collection.name]),
];

/** The names of a text with backquotes; null: it has none, or they are not pairs around names. */
export function exactNames(text: string): NamePath | null {
  if (!text.includes('`') || !exactForm.test(text)) return null;
  return [...text.matchAll(oneName)].map(([, quoted, plain]) => (quoted ?? plain) as string);
}

/** Whether the text, with backquotes or without, names the path. */
export function isNameOf(text: string, path: NamePath): boolean {
  const exact = exactNames(text);
  if (exact === null) return path.join('.') === text;
  return exact.length === path.length && exact.every((name, index) => name === path[index]);
}

/** The path that the text names; undefined: none. @throws BackupError where it names two */
export function pathNamed(text: string, paths: readonly NamePath[]): NamePath | undefined {
  const found = new Map(paths.filter((path) => isNameOf(text, path)).map((path) => [quoted(path), path]));
  if (found.size > 1)
    throw new BackupError(
      `the backup has two things named "${text}": write ${[...found.keys()].join(' or ')}`,
    );
  return found.values().next().value;
}

const quoted = (path: NamePath): string => path.map((name) => `\`${name}\``).join('.');
