// Computes the keys of a document's index rows.
import { renewSteps } from '#sqlpp/values/step-limit.ts';
import { keyName } from '../keys/key-name.ts';
import { KeyWriter } from '../keys/key-writer.ts';
import { primaryKey } from '../keys/primary-key.ts';
import type { ArrayKey, CompiledDefinition, IndexedDocument, PlainKey } from './compiled-definition.ts';

/** A document with a longer key is left out of the index. */
export const keyBytesMax = 32 << 10;
/** A document whose indexed array has more elements is left out of the index. */
export const arrayEntriesMax = 100_000;
/** A document whose keys have more bytes together is left out of the index: each row repeats the values of the fields beside an indexed array. */
export const rowsBytesMax = 32 << 20;

const noRows: readonly Buffer[] = [];
/** Repeated elements of an ALL array are numbered: up to here in two bytes after the key's components, further ones in three. */
const twoBytesMax = 0xffff;

export class RowMaker {
  private readonly definition: CompiledDefinition;
  private readonly writer = new KeyWriter(keyBytesMax);
  /** True if documents whose leading key is MISSING have rows, too. */
  private readonly includesMissing: boolean;
  /** The keys if none is an array key, else null. */
  private readonly plain: readonly PlainKey[] | null;
  /** How often a document was left out: keys above a limit, or an evaluation that failed. */
  leftOut = 0;

  constructor(definition: CompiledDefinition) {
    const { keys } = definition;
    const [first] = keys;
    this.definition = definition;
    const leading = first?.kind === 'array' ? first.parts[0] : first;
    this.includesMissing = leading?.includesMissing ?? true;
    this.plain = keys.every((key) => key.kind === 'plain') ? keys : null;
  }

  /** Empty if the document is not in the index. */
  keysOf(document: IndexedDocument, id: Uint8Array): readonly Buffer[] {
    const { condition, keys } = this.definition;
    // Each document has the same limit, so that the index thread refuses the same documents as the query service, which evaluates those that a transaction
    // has changed.
    renewSteps();
    try {
      if (condition !== null && !condition(document)) return noRows;
      if (keys.length === 0) return [primaryKey(id)];
      return this.plain === null ? this.arrayRows(document) : this.plainRow(this.plain, document);
    } catch {
      // The document exceeds a limit, or the language cannot evaluate a key of it: the index is right for all other documents.
      this.leftOut++;
      return noRows;
    } finally {
      this.writer.truncate();
    }
  }

  private plainRow(keys: readonly PlainKey[], document: IndexedDocument): readonly Buffer[] {
    const { writer } = this;
    for (const [position, key] of keys.entries()) {
      const value = key.evaluate(document);
      if (position === 0 && value === undefined && !this.includesMissing) return noRows;
      writer.write(value, key.isDescending);
    }
    return [writer.copy()];
  }

  /** The components before and after the array are the same in all rows. */
  private arrayRows(document: IndexedDocument): readonly Buffer[] {
    const { keys } = this.definition;
    const at = keys.findIndex(({ kind }) => kind === 'array');
    const before = this.components(keys.slice(0, at) as PlainKey[], document, at > 0);
    if (before === null) return noRows;
    const after = this.components(keys.slice(at + 1) as PlainKey[], document, false) as Buffer;
    const elements = this.elementsOf(keys[at] as ArrayKey, document, at === 0);
    return this.rowsOf(keys[at] as ArrayKey, elements, before, after);
  }

  /** null: the leading key is MISSING, so there are no rows. */
  private components(
    keys: readonly PlainKey[],
    document: IndexedDocument,
    isLeading: boolean,
  ): Buffer | null {
    const { writer } = this;
    writer.truncate();
    for (const [position, key] of keys.entries()) {
      const value = key.evaluate(document);
      if (isLeading && position === 0 && value === undefined && !this.includesMissing) return null;
      writer.write(value, key.isDescending);
    }
    return writer.copy();
  }

  private elementsOf(key: ArrayKey, document: IndexedDocument, isLeading: boolean) {
    const missing = key.parts.map(() => undefined);
    const found = key.evaluate(document);
    const elements = found === 'missing' ? [] : found;
    if (elements.length > arrayEntriesMax)
      throw new RangeError(`the array has more than ${arrayEntriesMax} elements`);
    // A scan by the keys before the array key must find documents without elements, too.
    if (!isLeading) return elements.length === 0 ? [missing] : elements;
    if (this.includesMissing) return found === 'missing' ? [missing] : elements;
    return elements.filter(([first]) => first !== undefined);
  }

  private rowsOf(
    key: ArrayKey,
    elements: readonly (readonly unknown[])[],
    before: Buffer,
    after: Buffer,
  ): Buffer[] {
    const { writer } = this;
    const seen = new Map<string, number>();
    const rows: Buffer[] = [];
    let rowsBytes = 0;
    for (const element of elements) {
      writer.truncate();
      writer.append(before);
      for (const [position, { isDescending }] of key.parts.entries())
        writer.write(element[position] as never, isDescending);
      const name = keyName(writer.view(before.length));
      const times = seen.get(name) ?? 0;
      seen.set(name, times + 1);
      if (times > 0 && key.isDistinct) continue;
      writer.append(after);
      if (times > 0) writer.append(repeatBytes(times));
      rows.push(writer.copy());
      rowsBytes += writer.length;
      if (rowsBytes > rowsBytesMax) throw new RangeError(`the keys have more than ${rowsBytesMax} bytes`);
    }
    return rows;
  }
}

const repeatBytes = (times: number): Uint8Array =>
  Uint8Array.from(
    times <= twoBytesMax ? [times >> 8, times & 0xff] : [times >> 16, (times >> 8) & 0xff, times & 0xff],
  );
