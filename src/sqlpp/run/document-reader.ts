// Puts documents that were read into rows: whole, or only the fields that the query reads.
import type { ReadOptions, StoredDocument } from '../datastore/documents.ts';
import type { Source } from '../plan/block.ts';
import { extractFields, FieldTree, ownJson } from '../values/field-extraction.ts';
import { RawJson } from '../values/value.ts';
import type { BlockCompiler } from './code.ts';
import { bodyOf, metaOf } from './documents.ts';
import type { Row } from './row.ts';
import type { Run } from './run.ts';

export class DocumentReader {
  readonly source: Source;
  readonly #compiler: BlockCompiler;
  /** Whether the query reads the documents, and not only their keys and metadata. */
  readonly #hasBodies: boolean;
  #plan: { readonly tree: FieldTree | undefined } | undefined;

  constructor(compiler: BlockCompiler, source: Source, hasBodies: boolean) {
    this.#compiler = compiler;
    this.source = source;
    this.#hasBodies = hasBodies;
    if (hasBodies) compiler.extractFields(source);
  }

  options(run: Run): ReadOptions {
    const { signal } = run.context;
    const { xattrs, usesExpiration } = this.source;
    return {
      signal,
      ...(xattrs.size > 0 && { xattrs: [...xattrs] }),
      ...(usesExpiration && { expiration: true }),
    };
  }

  row(seed: Row, document: StoredDocument): Row {
    const row = seed.slice();
    this.fill(row, document);
    return row;
  }

  fill(row: Row, document: StoredDocument): void {
    const { source } = this;
    row[source.idSlot as number] = document.id;
    if (source.usesMeta) row[source.metaSlot as number] = metaOf(document);
    if (!this.#hasBodies) return;
    const body = bodyOf(document);
    const { tree } = this.#fields();
    if (!(body instanceof RawJson)) row[source.slot] = body;
    else if (tree) extractFields(body, tree, row);
    else row[source.slot] = ownJson(body.bytes, body.start, body.end);
  }

  #fields(): { readonly tree: FieldTree | undefined } {
    if (this.#plan) return this.#plan;
    const fields = this.#compiler.fieldsOf(this.source);
    this.#plan = { tree: fields && new FieldTree(fields) };
    return this.#plan;
  }
}
