// The passphrase of encrypted backups: from a file, standard input or the environment, never from an argument, which other users of the
// machine can see.
import { readFileSync } from 'node:fs';
import { BackupError } from '#backup/format/backup-error.ts';

const variable = 'DIVAN_BACKUP_PASSPHRASE';
const fileBytesMax = 4_096;

/** Undefined if there is none. @throws BackupError for a file that cannot be read */
export function backupPassphrase(file?: string, environment = process.env): string | undefined {
  const given = environment[variable];
  // An empty variable is an empty passphrase, which is refused: a backup that should be encrypted must not be written without.
  if (file === undefined) return given === undefined ? undefined : withoutLineEnd(given);
  const text = textOf(file);
  if (text.length > fileBytesMax)
    throw new BackupError(`--passphrase-file: the passphrase must have at most ${fileBytesMax} characters`);
  return withoutLineEnd(text);
}

/** A file ends with a line end, also one that was put into the variable. */
const withoutLineEnd = (text: string): string => text.replace(/\r?\n$/, '');

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new BackupError(`--passphrase-file: ${(error as Error).message}`);
  }
}
