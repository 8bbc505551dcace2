// Reports to the actives how far the copies of a bucket are. It sends one message to each active's node for all changes of one turn of the
// event loop.
import type { VbucketColumns } from '../vbucket/columns.ts';
import type { DelayedWork } from './delayed-work.ts';
import type { CopyBatch, ReportedPosition } from './frames.ts';
import type { PeerConnections } from './peers.ts';

interface Report {
  bytes: number;
  /** By vbucket. */
  readonly rows: Map<number, ReportedPosition>;
  /** It is sent at the end of the turn. */
  isDue: boolean;
  isDelayed: boolean;
}

type Reported = Pick<CopyBatch, 'epoch' | 'isAwaited' | 'shard' | 'vb'>;

export interface CopyReportsOptions {
  uuid: string;
  columns: VbucketColumns;
  peers: Pick<PeerConnections, 'send'>;
  delayed: DelayedWork;
}

export class CopyReports {
  private readonly options: CopyReportsOptions;
  /** By node. */
  private readonly reports = new Map<string, Report>();

  constructor(options: CopyReportsOptions) {
    this.options = options;
  }

  /** Reports the vbucket as it is now; `bytes` were received for it. */
  add(node: string, { epoch, isAwaited, shard, vb }: Reported, bytes: number): void {
    const { copy, highSeqno, persistedSeqno } = this.options.columns;
    const report = this.reportTo(node);
    this.sendLater(node, report, isAwaited);
    report.bytes += bytes;
    report.rows.set(vb, {
      shard,
      epoch,
      vb,
      received: highSeqno[vb] as number,
      persisted: persistedSeqno[vb] as number,
      following: copy[vb] === 0,
    });
  }

  private reportTo(node: string): Report {
    const existing = this.reports.get(node);
    if (existing !== undefined) return existing;
    const report = { bytes: 0, rows: new Map<number, ReportedPosition>(), isDue: false, isDelayed: false };
    this.reports.set(node, report);
    return report;
  }

  private sendLater(node: string, report: Report, isAwaited: boolean): void {
    if (report.isDue || (report.isDelayed && !isAwaited)) return;
    const send = (): void => {
      if (this.reports.get(node) === report) this.send(node);
    };
    if (isAwaited) {
      report.isDue = true;
      void Promise.resolve().then(send);
    } else {
      report.isDelayed = true;
      this.options.delayed.add(send);
    }
  }

  /** Sends the report: before messages that must not overtake it, otherwise at the end of the turn. */
  send(node: string): void {
    const report = this.reports.get(node);
    if (report === undefined) return;
    this.reports.delete(node);
    const { peers, uuid } = this.options;
    const { bytes, rows } = report;
    peers.send(node, { kind: 'got', bucket: uuid, bytes, rows: [...rows.values()] });
  }

  /** The connection to the node was lost, and with it what it would confirm. */
  discard(node: string): void {
    this.reports.delete(node);
  }
}
