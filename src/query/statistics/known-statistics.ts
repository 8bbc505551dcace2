// The planner's statistics in a query thread.
import type { Keyspace } from '#sqlpp/datastore/keyspace.ts';
import type { CollectionStatistics } from '#sqlpp/datastore/statistics.ts';
import type { StoredStatistics } from '../query.contract.ts';

export class KnownStatistics {
  /** Incremented by every change. */
  revision = 0;
  private records: readonly StoredStatistics[] = [];
  private byCollection = new Map<string, CollectionStatistics>();

  set(records: readonly StoredStatistics[]): void {
    this.records = records;
    this.byCollection = new Map(
      records.map((record) => [
        keyOf(record),
        new Map(record.expressions.map((each) => [each.expression, each])),
      ]),
    );
    this.revision++;
  }

  all(): readonly StoredStatistics[] {
    return this.records;
  }

  statisticsOf(keyspace: Keyspace): CollectionStatistics | undefined {
    return this.byCollection.get(keyOf(keyspace));
  }
}

const keyOf = ({ bucketUuid, collectionId }: { bucketUuid: string; collectionId: number }): string =>
  `${bucketUuid}/${collectionId}`;
