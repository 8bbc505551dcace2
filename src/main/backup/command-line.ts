// What the commands of backup and restore share: the folder, the passphrase and the node.
import { BackupNode } from '#backup/node/backup-node.ts';
import { commandTarget, passwordOf } from '../connection-options.ts';
import { noOption, UsageError } from '../options.ts';
import { checkWords } from '../split-words.ts';
import { backupPassphrase } from './passphrase.ts';

/** The only folder of a command: `divan restore FOLDER`. */
export function oneFolder(usage: string, words: readonly string[]): string {
  const option = words.find((word) => /^-[^-]/.test(word));
  if (option !== undefined) throw noOption(option);
  checkWords(usage, words);
  return words[0] as string;
}

interface SecretFiles {
  readonly 'passphrase-file': string | undefined;
  readonly 'password-file': string | undefined;
}

/** The passphrase of the archive; call before `nodeOf`. @throws UsageError if the password is to be read from standard input, too */
export function archivePassphrase(options: SecretFiles): string | undefined {
  if (options['passphrase-file'] === '-' && options['password-file'] === '-')
    throw new UsageError('--passphrase-file and --password-file: both name standard input');
  return backupPassphrase(options['passphrase-file']);
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
