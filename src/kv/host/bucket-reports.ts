// The reports of the buckets. A report takes a millisecond or more, so each report after the first waits for a turn of the data thread that has
// time for it.
import { type Clock, nextTurn } from '#ports/clock.ts';
import type { BucketReport } from '../admin.ts';

/** What a report needs of a bucket. */
export interface ReportedBucket {
  readonly served: { readonly uuid: string };
  /** Reads from the disk thread what `report` contains of the disk. */
  measure(): Promise<void>;
  report(): BucketReport;
}

/** Reports of the buckets that exist when their turn comes, or of one of them; `turns` divides the work into turns. */
export async function bucketReports(
  hosts: ReadonlyMap<string, ReportedBucket>,
  turns: Pick<Clock, 'soon'>,
  onlyUuid?: string,
): Promise<BucketReport[]> {
  const wanted = [...hosts].filter(([, { served }]) => onlyUuid === undefined || served.uuid === onlyUuid);
  await Promise.all(wanted.map(([, host]) => host.measure()));
  const reports: BucketReport[] = [];
  for (const [name, host] of wanted) {
    if (reports.length > 0) await nextTurn(turns);
    if (hosts.get(name) === host) reports.push(host.report());
  }
  return reports;
}
