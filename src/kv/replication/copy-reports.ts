// Reports to the actives how far the copies of a bucket are: one message to each active's node for all changes of one turn of the event
// loop.
import { CopyPhase } from '../data/vbucket-state.ts';
import type { VbucketColumns } from '../vbucket/columns.ts';
import type { DelayedWork } from './delayed-work.ts';
import type { CopyBatch } from './frames.ts';
import type { PeerConnections } from './peers.ts';
import { PositionRows } from './position-rows.ts';

/** What is to be sent to one node. */
interface Report {
  bytes: number;
  readonly rows: PositionRows;
  /** Something was added since the last sending. */
  isBegun: boolean;
  /** Whether the report is sent at the end of the turn. */
  isDue: boolean;
  isDelayed: boolean;
  /** Raised with each sending: what was scheduled for an earlier one does nothing. */
  number: number;
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
    const { copy, highSeqno, persistedSeqno, snapEnd } = this.options.columns;
    const report = this.reportTo(node);
    report.isBegun = true;
    this.sendLater(node, report, isAwaited);
    report.bytes += bytes;
    const [received, persisted] = [highSeqno[vb] as number, persistedSeqno[vb] as number];
    // Inside of a snapshot the copy lacks keys whose versions come later.
    const follows = copy[vb] === CopyPhase.following && (snapEnd[vb] as number) <= received;
    report.rows.set(shard, epoch, vb, received, persisted, follows);
  }

  private reportTo(node: string): Report {
    const existing = this.reports.get(node);
    if (existing !== undefined) return existing;
    const rows = new PositionRows(this.options.columns.count);
    const report = { bytes: 0, rows, isBegun: false, isDue: false, isDelayed: false, number: 0 };
    this.reports.set(node, report);
    return report;
  }

  private sendLater(node: string, report: Report, isAwaited: boolean): void {
    if (report.isDue || (report.isDelayed && !isAwaited)) return;
    const { number } = report;
    const send = (): void => {
      if (report.number === number) this.send(node);
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
    if (report === undefined || !report.isBegun) return;
    const { peers, uuid } = this.options;
    const { bytes } = report;
    const rows = this.reset(report);
    peers.send(node, { kind: 'got', bucket: uuid, bytes, rows });
  }

  /** The connection to the node was lost: nothing that arrived on it has to be confirmed. */
  discard(node: string): void {
    const report = this.reports.get(node);
    if (report !== undefined) this.reset(report);
  }

  /** Returns the rows that the report had, valid until it gets others. */
  private reset(report: Report): Buffer {
    report.bytes = 0;
    report.isBegun = report.isDue = report.isDelayed = false;
    report.number++;
    return report.rows.drain();
  }
}
