// Open files of blocks. Of those that no query reads, only a few stay open.
import { footerBytes, readFooter, readTable, type Table } from './block.ts';
import type { BlockFile, StoreFiles } from './files.ts';

export interface OpenBlock {
  readonly file: BlockFile;
  readonly table: Table;
}

interface Handle {
  readonly opened: Promise<OpenBlock>;
  users: number;
}

const openMax = 64;

export class OpenBlocks {
  readonly #files: Pick<StoreFiles, 'open'>;
  /** In least-recently-used order. */
  readonly #handles = new Map<string, Handle>();

  constructor(files: Pick<StoreFiles, 'open'>) {
    this.#files = files;
  }

  /** The block stays open until `read` has ended. Rejects if the file cannot be opened or is damaged, or as `read` does. */
  async use<T>(block: { name: string; bytes: number }, read: (opened: OpenBlock) => Promise<T>): Promise<T> {
    const { name } = block;
    const handle = this.#handles.get(name) ?? { opened: this.#open(block), users: 0 };
    this.#handles.delete(name);
    this.#handles.set(name, handle);
    handle.opened.catch(() => this.#forget(name, handle));
    handle.users++;
    try {
      return await read(await handle.opened);
    } finally {
      handle.users--;
      await this.#release(name, handle);
    }
  }

  /** A block that is being read is closed afterwards. */
  async close(name: string): Promise<void> {
    const handle = this.#handles.get(name);
    this.#handles.delete(name);
    if (handle?.users === 0) await closeFile(handle);
  }

  async closeAll(): Promise<void> {
    for (const name of [...this.#handles.keys()]) await this.close(name);
  }

  async #release(name: string, handle: Handle): Promise<void> {
    if (handle.users > 0) return;
    if (this.#handles.get(name) === handle) await this.#closeSurplus();
    else await closeFile(handle);
  }

  #forget(name: string, handle: Handle): void {
    if (this.#handles.get(name) === handle) this.#handles.delete(name);
  }

  async #closeSurplus(): Promise<void> {
    for (const [name, { users }] of this.#handles) {
      if (this.#handles.size <= openMax) return;
      if (users === 0) await this.close(name);
    }
  }

  async #open({ name, bytes }: { name: string; bytes: number }): Promise<OpenBlock> {
    const file = await this.#files.open(name);
    try {
      const footer = readFooter(await file.read(Math.max(bytes - footerBytes, 0), footerBytes));
      return { file, table: readTable(await file.read(footer.offset, footer.length), footer.crc) };
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

const closeFile = ({ opened }: Handle): Promise<void> =>
  opened.then(
    ({ file }) => file.close(),
    () => {},
  );
