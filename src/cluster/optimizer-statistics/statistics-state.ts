// Keys `statistics/<bucket uuid>/<collection id>`: what UPDATE STATISTICS gathered of one collection. Ids are lower-case hex.
import type { StoredStatistics } from '#query/query.contract.ts';

export const statisticsPrefix = 'statistics/';

export type StatisticsState = Pick<StoredStatistics, 'expressions'>;

export const noStatistics: StatisticsState = { expressions: [] };

export const statisticsKey = (bucketUuid: string, collectionId: number): string =>
  `${statisticsPrefix}${bucketUuid}/${collectionId.toString(16)}`;

export function partsOfKey(key: string): { bucketUuid: string; collectionUid: string } {
  const [, bucketUuid = '', collectionUid = ''] = key.split('/');
  return { bucketUuid, collectionUid };
}
