// The passphrase of encrypted backups: from a file, standard input or the environment, never from an argument, which other users of the
// machine can see.
import { readFileSync } from 'node:fs';
import { ArchiveError } from '#backup/format/archive-error.ts';

const variable = 'DIVAN_BACKUP_PASSPHRASE';
const fileBytesMax = 4_096;

/** Undefined if there is none. @throws ArchiveError for a file that cannot be read */
export function backupPassphrase(file?: string): string | undefined {
  if (file === undefined) return process.env[variable];
  const text = textOf(file);
  if (text.length > fileBytesMax)
    throw new ArchiveError(`--passphrase-file: the passphrase must have at most ${fileBytesMax} characters`);
  return text.replace(/\r?\n$/, '');
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new ArchiveError(`--passphrase-file: ${(error as Error).message}`);
  }
}
