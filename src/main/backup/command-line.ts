// What the commands of backup and restore share: the folder and the node.
import { BackupNode } from '#backup/node/backup-node.ts';
import { commandTarget, passwordOf } from '../connection-options.ts';
import { noOption } from '../options.ts';
import { checkWords } from '../split-words.ts';

/** The only folder of a command: `divan restore FOLDER`. */
export function oneFolder(usage: string, words: readonly string[]): string {
  const option = words.find((word) => /^-[^-]/.test(word));
  if (option !== undefined) throw noOption(option);
  checkWords(usage, words);
  return words[0] as string;
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
