// Which events raise alerts, which recipients get them by mail, and the mail server.

/** Kinds raised by automatic failover. */
const failoverKinds = [
  'auto_failover_node',
  'auto_failover_maximum_reached',
  'auto_failover_other_nodes_down',
  'auto_failover_cluster_too_small',
] as const;

/** Kinds that this version measures, with the subject of their mails. */
export const measuredKinds = {
  ip: 'IP address changed',
  disk: 'approaching full disk warning',
  overhead: 'metadata overhead warning',
  ep_oom_errors: 'hard out of memory error',
  ep_item_commit_failed: 'write commit failure',
  audit_dropped_events: 'audit write failure',
  ep_clock_cas_drift_threshold_exceeded: 'cas drift threshold exceeded error',
  communication_issue: 'communication issue among some nodes',
  time_out_of_sync: 'node time not in sync',
  memory_threshold: 'system memory usage threshold exceeded',
  backup_task_failed: 'backup task failed',
} as const;

/** Kinds that published clients send and that never occur here. */
type OtherKind = 'auto_failover_disabled' | 'indexer_ram_max_usage' | 'disk_usage_analyzer_stuck';

export type MeasuredKind = keyof typeof measuredKinds;
export type AlertKind = (typeof failoverKinds)[number] | MeasuredKind | OtherKind;

/** In the order in which answers list them. */
export const alertKinds: readonly AlertKind[] = [
  ...failoverKinds,
  'auto_failover_disabled',
  'ip',
  'disk',
  'overhead',
  'ep_oom_errors',
  'ep_item_commit_failed',
  'audit_dropped_events',
  'indexer_ram_max_usage',
  'ep_clock_cas_drift_threshold_exceeded',
  'communication_issue',
  'time_out_of_sync',
  'disk_usage_analyzer_stuck',
  'memory_threshold',
  'backup_task_failed',
];

export interface MailServer {
  host: string;
  port: number;
  /** STARTTLS is required; port 465 uses TLS from the start. */
  encrypt: boolean;
  user: string;
  password: string;
}

export interface AlertSettings {
  enabled: boolean;
  recipients: string[];
  /** Kinds sent by mail. */
  alerts: AlertKind[];
  /** Kinds that consoles show in a pop-up window. */
  popUps: AlertKind[];
  sender: string;
  server: MailServer;
}

export const defaultAlertSettings: AlertSettings = {
  enabled: false,
  recipients: ['root@localhost'],
  alerts: [...failoverKinds],
  popUps: [...alertKinds],
  sender: 'divan@localhost',
  server: { host: 'localhost', port: 25, encrypt: false, user: '', password: '' },
};

/** Percentages: an alert is raised above a `max…Perc`, and from a threshold of memory on; -1: never. */
export interface AlertLimits {
  maxOverheadPerc: number;
  maxDiskUsedPerc: number;
  maxIndexerRamPerc: number;
  memoryNoticeThreshold: number;
  memoryWarningThreshold: number;
  memoryCriticalThreshold: number;
}

export const defaultAlertLimits: AlertLimits = {
  maxOverheadPerc: 50,
  maxDiskUsedPerc: 90,
  maxIndexerRamPerc: 75,
  memoryNoticeThreshold: -1,
  memoryWarningThreshold: 90,
  memoryCriticalThreshold: 95,
};
