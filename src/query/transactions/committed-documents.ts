// Reads documents as transactions must see them: staged changes of other attempts count once their record says committed, although the documents
// do not have them yet.
import type { Documents, ReadOptions, ScanOptions, StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import { memberOf, nameBytes } from '#sqlpp/values/json-scan.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import { RawJson } from '#sqlpp/values/value.ts';
import { type TxnAttribute, txnAttributeOf } from './attempt-json.ts';
import type { OtherAttempts } from './other-attempts.ts';

/** The extended attribute that links a document to an attempt. */
const txnAttribute = 'txn';

export class CommittedDocuments {
  private readonly stored: Documents;
  private readonly others: OtherAttempts;

  constructor(stored: Documents, others: OtherAttempts) {
    this.stored = stored;
    this.others = others;
  }

  async read(
    keyspace: Keyspace,
    ids: readonly string[],
    options: ReadOptions,
  ): Promise<(StoredDocument | undefined)[]> {
    if (ids.length === 0) return [];
    const read = await this.readLinked(keyspace, ids, options);
    return await Promise.all(read.map((found) => found && this.committed(keyspace, found, options)));
  }

  /** Staged inserts are no documents yet, so that a scan does not find them. */
  async *scan(
    keyspace: Keyspace,
    options: ScanOptions,
    isWanted: (id: string) => boolean,
  ): AsyncIterable<readonly StoredDocument[]> {
    for await (const batch of this.stored.scan(keyspace, withTxnAttribute(options))) {
      const wanted = batch.filter(({ id }) => isWanted(id));
      const current = await Promise.all(wanted.map((found) => this.committed(keyspace, found, options)));
      yield current.filter((document) => document !== undefined);
    }
  }

  private async readLinked(keyspace: Keyspace, ids: readonly string[], options: ReadOptions) {
    return await this.stored.read(keyspace, ids, { ...withTxnAttribute(options), withDeleted: true });
  }

  /** `goneAttempt`: an attempt whose entry was missing in its record. */
  private async committed(
    keyspace: Keyspace,
    found: StoredDocument,
    options: ReadOptions,
    goneAttempt?: string,
  ): Promise<StoredDocument | undefined> {
    const document = found.isDeleted ? undefined : withoutTxnAttribute(found, options);
    const txn = txnAttributeOf(found.xattrs?.get(txnAttribute));
    const attempt = txn?.id?.atmpt;
    if (attempt === undefined || attempt === goneAttempt) return document;
    const state = await this.others.stateOf(txn as TxnAttribute);
    if (state === null) {
      // The attempt has ended since the document was read, so that the document has its change now.
      const [again] = await this.readLinked(keyspace, [found.id], options);
      return again && (await this.committed(keyspace, again, options, attempt));
    }
    if (state !== 'COMMITTED' && state !== 'COMPLETED') return document;
    if (txn?.op?.type === 'remove') return undefined;
    const bytes = stagedText(found.xattrs?.get(txnAttribute) as Uint8Array);
    if (bytes === undefined) return document;
    const { isDeleted, ...staged } = withoutTxnAttribute(found, options);
    const { docexpiry } = txn?.aux ?? {};
    return { ...staged, bytes, isJson: true, ...(docexpiry !== undefined && { expiration: docexpiry }) };
  }
}

/** The staged body in an attribute, as its writer formatted it: numbers may have more digits than a parsed one keeps. */
function stagedText(attribute: Uint8Array): Uint8Array | undefined {
  const operation = memberOf(new RawJson(attribute, 0, attribute.length), nameBytes('op'));
  const staged = operation instanceof RawJson ? memberOf(operation, nameBytes('stgd')) : undefined;
  if (staged === undefined) return undefined;
  return staged instanceof RawJson
    ? staged.bytes.subarray(staged.start, staged.end)
    : Buffer.from(jsonText(staged));
}

/** Without the transaction attributes, which the statement did not request. */
function withoutTxnAttribute(
  stored: StoredDocument,
  { xattrs: wanted = [], expiration }: ReadOptions,
): StoredDocument {
  const { xattrs, ...document } = stored;
  if (xattrs === undefined || (wanted.length === 0 && expiration !== true)) return document;
  return wanted.includes(txnAttribute)
    ? stored
    : { ...document, xattrs: new Map([...xattrs].filter(([name]) => name !== txnAttribute)) };
}

const withTxnAttribute = <T extends ReadOptions>(options: T): T => ({
  ...options,
  xattrs: [...(options.xattrs ?? []), txnAttribute],
});
