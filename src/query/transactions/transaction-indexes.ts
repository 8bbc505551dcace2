// The indexes that the statements of a transaction scan: with computed rows for the documents that it has changed.

import type { StoredDocument } from '#sqlpp/datastore/documents.ts';
import type { Indexes, IndexScan } from '#sqlpp/datastore/indexes.ts';
import type { Transaction } from './transaction.ts';

export function transactionIndexes(indexes: Indexes, { changes }: Transaction): Indexes {
  const overlaid = <T extends Pick<IndexScan, 'index'>>(scan: T): T & Pick<IndexScan, 'changed'> => {
    const staged = changes.of(scan.index.keyspace);
    if (staged.size === 0) return scan;
    const changed = new Map<string, StoredDocument | null>();
    for (const { id, kind, bytes, ownCas: cas, expiration: wanted } of staged.values()) {
      const expiration = wanted === 'keep' ? 0 : wanted;
      changed.set(id, kind === 'remove' ? null : { id, bytes, isJson: true, cas, expiration, flags: 0 });
    }
    return { ...scan, changed };
  };
  return {
    of: (keyspace) => indexes.of(keyspace),
    scan: (scan) => indexes.scan(overlaid(scan)),
    count: (scan) => indexes.count(overlaid(scan)),
    figures: (index) => indexes.figures(index),
  };
}
