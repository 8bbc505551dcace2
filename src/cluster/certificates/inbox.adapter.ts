// Reads the inbox folder; refuses files that are too large for certificates.
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inbox, InboxFile } from './inbox.ts';

const fileBytesMax = 1 << 20;
const filesMax = 1_000;

const reasons: Record<string, string> = {
  ENOENT: 'The file does not exist.',
  EACCES: 'Missing permission for reading the file, or for searching one of the parent directories.',
  EISDIR: 'The named file is a directory.',
  ENOTDIR: 'A component of the file name is not a directory.',
};

export class FolderInbox implements Inbox {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async authorities(): Promise<{ folder: string; files: InboxFile[] }> {
    const folder = join(this.#folder, 'CA');
    const names = await namesIn(folder);
    const files = await Promise.all(names.slice(0, filesMax).map((name) => read(join(folder, name))));
    return { folder, files };
  }

  chain(): Promise<InboxFile> {
    return read(join(this.#folder, 'chain.pem'));
  }

  key(): Promise<InboxFile> {
    return read(join(this.#folder, 'pkey.key'));
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return []; // missing or unreadable: reported as empty
  }
}

async function read(path: string): Promise<InboxFile> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > fileBytesMax)
        return { path, text: null, problem: `The file is larger than ${fileBytesMax} bytes.` };
      return { path, text: await file.readFile('utf8'), problem: '' };
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return { path, text: null, problem: reasons[code] ?? code };
  }
}
