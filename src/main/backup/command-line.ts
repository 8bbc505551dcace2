// What the commands of backup and restore share: the folder and the node.
import { BackupNode } from '#backup/node/backup-node.ts';
import { commandTarget, passwordOf } from '../connection-options.ts';
import { UsageError } from '../options.ts';

/** The only folder of the command line; `missing` where there is none. */
export function oneFolder(words: readonly string[], missing: string | null): string {
  if (words.length > 1) throw new UsageError(`unexpected "${words[1]}": one folder is given`);
  const folder = words[0] ?? missing;
  if (folder === null) throw new UsageError('FOLDER is missing');
  if (folder === '') throw new UsageError('FOLDER is empty');
  return folder;
}

interface NodeOptions {
  readonly url: string;
  readonly ca: string | undefined;
  readonly username: string;
  readonly password: string | undefined;
  readonly 'password-file': string | undefined;
}

export function nodeOf(options: NodeOptions): BackupNode {
  const { username } = options;
  return new BackupNode({ ...commandTarget(options), username, password: passwordOf(options) });
}
