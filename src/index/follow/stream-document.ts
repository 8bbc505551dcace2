// Presents a change of a stream as a document for expressions. One object is reused for all changes: it presents a change until the next `read`.
import { Change } from '#client/change.ts';
import type { IndexedDocument } from '../entries/compiled-definition.ts';

export class StreamDocument implements IndexedDocument {
  private change = new Change();

  read(change: Change): this {
    this.change = change;
    return this;
  }

  get id(): string {
    return this.change.key;
  }

  get body(): Uint8Array {
    return this.change.body;
  }

  get isJson(): boolean {
    return this.change.isJson;
  }

  get cas(): bigint {
    return this.change.cas;
  }

  get expiration(): number {
    return this.change.expiry;
  }

  get flags(): number {
    return this.change.flags;
  }

  xattr(name: string): Uint8Array | undefined {
    return this.change.xattr(name);
  }
}
