// Checks once a minute for conditions that operators must know: full disks, buckets and machines short of memory, failed
// commits, nodes out of reach, clocks that differ. Raises an alert by mail, in the list of `/pools/default` and among the events.
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { PeriodicTask } from '#ports/periodic-task.ts';
import type { StoredBucket } from '../config/cluster-state.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService, MeasuredBucket } from '../config/data-service.ts';
import { type System, type SystemFigures, usedShare } from '../nodes/system.ts';
import type { AlertList } from './alert-list.ts';
import type { AlertLimits, MeasuredKind } from './alert-settings.ts';
import { cutOffFrom, isOutOfSync, type PeerHealth } from './peer-checks.ts';
import type { NotedAlert } from './shared-alerts.ts';

export const checkEveryMs = 60_000;
const mib = 1024 * 1024;

export interface AlertWatchDeps {
  view: Pick<ClusterView, 'liveBuckets' | 'self'>;
  data: Pick<DataService, 'measured' | 'refresh'>;
  system: Pick<System, 'figures'>;
  limits: () => Promise<AlertLimits>;
  /** The reason why the node cannot listen under its name; null if it can. */
  nameProblem: (name: string) => Promise<string | null>;
  /** The other nodes of the cluster. */
  peers: () => readonly PeerHealth[];
  list: AlertList;
  /** Called for each cause that a check finds. */
  noted: (alert: NotedAlert) => void;
  /** Called for each alert that is new in the list. */
  raised: (kind: MeasuredKind, text: string) => void;
  clock: Clock;
  log: Log;
}

/** Counters of a bucket at the last check. */
interface Counts {
  refusals: number;
  failedCommits: number;
  aheadOfClock: number;
}

export class AlertWatch {
  readonly #deps: AlertWatchDeps;
  readonly #counts = new Map<string, Counts>();
  #auditFailures = 0;
  readonly #checks: PeriodicTask;

  constructor(deps: AlertWatchDeps) {
    this.#deps = deps;
    const { clock, log } = deps;
    const onError = ({ message }: Error) => log.warn('alerts.check_failed', { reason: message });
    this.#checks = new PeriodicTask({ everyMs: checkEveryMs, clock, onError });
  }

  start(): void {
    this.#checks.start(() => this.check());
  }

  stop(): void {
    void this.#checks.stop();
  }

  /** Call when an event of the audit trail could not be written. */
  auditFailed(): void {
    this.#auditFailures++;
  }

  /** Call when a task of a repository of the backup service has failed. */
  backupFailed(repository: string, text: string): void {
    this.#note(`backup ${repository}`, 'backup_task_failed', text);
  }

  async check(): Promise<void> {
    const { data, system, limits, list } = this.#deps;
    const [bounds, figures] = await Promise.all([limits(), system.figures(), data.refresh()]);
    this.#checkMachine(figures, bounds);
    this.#checkBuckets(bounds);
    this.#checkPeers();
    if (this.#auditFailures > 0) {
      this.#note('audit', 'audit_dropped_events', auditText(this.#node));
      this.#auditFailures = 0;
    }
    await this.#checkName();
    list.expire();
  }

  #checkMachine({ disk, memory }: SystemFigures, bounds: AlertLimits): void {
    const used = usedShare(disk) * 100;
    if (used > bounds.maxDiskUsedPerc) {
      const text = `Approaching full disk warning. Usage of disk "${disk.mountPoint}" on node "${this.#node}" is around ${Math.round(used)}%.`;
      this.#note(`disk ${disk.mountPoint}`, 'disk', text);
    }
    const percent = memory.total > 0 ? (100 * (memory.total - memory.free)) / memory.total : 0;
    const level = memoryLevel(percent, bounds);
    if (level) this.#note(`memory ${level.name}`, 'memory_threshold', memoryText(this.#node, percent, level));
  }

  #checkBuckets({ maxOverheadPerc }: AlertLimits): void {
    const { view, data } = this.#deps;
    const live = view.liveBuckets();
    const uuids = new Set(live.map(({ uuid }) => uuid));
    for (const uuid of this.#counts.keys()) if (!uuids.has(uuid)) this.#counts.delete(uuid);
    for (const bucket of live) {
      const { uuid, name, ramQuotaMb } = bucket;
      const measured = data.measured(uuid);
      if (!measured) continue;
      const share = (100 * measured.metaBytes) / (ramQuotaMb * mib);
      if (share > maxOverheadPerc)
        this.#note(`overhead ${name}`, 'overhead', overheadText(name, this.#node, share));
      this.#checkCounts(bucket, measured);
    }
  }

  /** Raises alerts for counters that grew since the last check; those of a restarted bucket begin at zero. */
  #checkCounts(bucket: StoredBucket, measured: MeasuredBucket): void {
    const { name, uuid, evictionPolicy, conflictResolutionType: resolution } = bucket;
    const { memoryRefusals: refusals, failedCommits, writesAheadOfClock: aheadOfClock } = measured;
    const before = this.#counts.get(uuid) ?? { refusals: 0, failedCommits: 0, aheadOfClock: 0 };
    this.#counts.set(uuid, { refusals, failedCommits, aheadOfClock });
    if (evictionPolicy === 'noEviction' && refusals > before.refusals)
      this.#note(`oom ${name}`, 'ep_oom_errors', oomText(name, this.#node));
    if (failedCommits > before.failedCommits)
      this.#note(`commit ${name}`, 'ep_item_commit_failed', commitText(name, this.#node));
    if (resolution === 'lww' && aheadOfClock > before.aheadOfClock) {
      const text = driftText(name, this.#node, bucket.driftAheadThresholdMs);
      this.#note(`drift ${name}`, 'ep_clock_cas_drift_threshold_exceeded', text);
    }
  }

  #checkPeers(): void {
    const peers = this.#deps.peers();
    const names = cutOffFrom(peers);
    if (names.length > 0) this.#note('communication', 'communication_issue', cutOffText(this.#node, names));
    if (isOutOfSync(peers)) this.#note('time', 'time_out_of_sync', clockText(this.#node));
  }

  async #checkName(): Promise<void> {
    const { view, nameProblem } = this.#deps;
    const { hostname } = view.self;
    const problem = hostname ? await nameProblem(hostname) : null;
    if (problem !== null) this.#note('ip', 'ip', `IP address seems to have changed. ${problem}`);
  }

  #note(key: string, kind: MeasuredKind, text: string): void {
    const { list, noted, raised } = this.#deps;
    if (list.note(key, kind, text)) raised(kind, text);
    noted({ key, kind, text });
  }

  get #node(): string {
    const { hostname, otpNode } = this.#deps.view.self;
    return hostname ?? (otpNode.split('@')[1] as string);
  }
}

interface Level {
  name: 'critical' | 'warning' | 'notice';
  intro: string;
  threshold: number;
}

function memoryLevel(percent: number, bounds: AlertLimits): Level | undefined {
  const levels: Level[] = [
    { name: 'critical', intro: 'CRITICAL', threshold: bounds.memoryCriticalThreshold },
    { name: 'warning', intro: 'Warning', threshold: bounds.memoryWarningThreshold },
    { name: 'notice', intro: 'Notice', threshold: bounds.memoryNoticeThreshold },
  ];
  return levels.find(({ threshold }) => threshold >= 0 && percent >= threshold);
}

const memoryText = (node: string, percent: number, { name, intro, threshold }: Level): string =>
  `${intro}: On node ${node} system memory use is ${percent.toFixed(2)}% of total available memory, above the ${name} threshold of ${threshold}%.`;
const overheadText = (bucket: string, node: string, percent: number): string =>
  `Metadata overhead warning. Over  ${Math.floor(percent)}% of RAM allocated to bucket  "${bucket}" on node "${node}" is taken up by keys and metadata.`;
const oomText = (bucket: string, node: string): string =>
  `Hard out-of-memory error: Bucket "${bucket}" on node ${node} is full. No memory currently allocated to this bucket can be easily released.`;
const commitText = (bucket: string, node: string): string =>
  `Write Commit Failure. Disk write failed for item in Bucket "${bucket}" on node ${node}.`;
const driftText = (bucket: string, node: string, ms: number): string =>
  `Remote or replica mutation received for bucket "${bucket}" on node "${node}" with timestamp more than ${ms} milliseconds ahead of local clock. Please ensure that NTP is set up correctly on all nodes across the replication topology and clocks are synchronized.`;
const cutOffText = (node: string, others: readonly string[]): string =>
  `Warning: Node "${node}" is having issues communicating with following nodes "${others.join(', ')}".`;
const clockText = (node: string): string =>
  `The time on node "${node}" is not synchronized. Please ensure that NTP is set up correctly on all nodes and that clocks are synchronized.`;
const auditText = (node: string): string =>
  `Audit Write Failure. Attempt to write to audit log on node "${node}" was unsuccessful`;
