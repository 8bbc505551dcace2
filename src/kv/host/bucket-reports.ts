// The reports of the buckets. One takes a millisecond or more, so that each further one waits for a turn of the data thread in which there is
// time for it.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { BucketReport } from '../admin.ts';

/** What a report needs of a bucket. */
export interface ReportedBucket {
  /** Reads from the disk thread what `report` contains of the disk. */
  measure(): Promise<void>;
  report(): BucketReport;
}

/** Of the buckets that are there when their turn comes; `turns` divides the work into turns. */
export async function bucketReports(
  hosts: ReadonlyMap<string, ReportedBucket>,
  turns: Pick<Clock, 'soon'>,
): Promise<BucketReport[]> {
  const wanted = [...hosts];
  await Promise.all(wanted.map(([, host]) => host.measure()));
  const reports: BucketReport[] = [];
  for (const [name, host] of wanted) {
    if (reports.length > 0) await nextTurn(turns);
    if (hosts.get(name) === host) reports.push(host.report());
  }
  return reports;
}
