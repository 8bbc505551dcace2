// Parameters of alerts by mail and of their test mails.
import { type SettingGroup, setting } from './setting.ts';

const tests = ['alerts.test', 'alerts.send_test'];
const address = 'an address';
const kinds =
  'separated by commas: `auto_failover_node`, `auto_failover_maximum_reached`, `auto_failover_other_nodes_down`, ' +
  '`auto_failover_cluster_too_small`, `auto_failover_disabled`, `ip`, `disk`, `overhead`, `ep_oom_errors`, ' +
  '`ep_item_commit_failed`, `audit_dropped_events`, `backup_task_failed`, `indexer_ram_max_usage`, `ep_clock_cas_drift_threshold_exceeded`, ' +
  '`communication_issue`, `time_out_of_sync`, `disk_usage_analyzer_stuck`, `memory_threshold`';

export const alertParameters: readonly SettingGroup[] = [
  {
    title: 'Alerts by mail',
    routes: ['alerts.change', ...tests],
    settings: [
      setting(
        'enabled',
        '`false`; required',
        '`true`, `false`',
        'live',
        'effective',
        'ignored in test mails',
      ),
      setting(
        'recipients',
        '`root@localhost`; required with `enabled=true`',
        'up to 100 addresses separated by commas',
        'live',
        'effective',
      ),
      setting(
        'alerts',
        'the four kinds of auto-failover',
        kinds,
        'live',
        'effective',
        'the events that send mail: those of auto-failover each time, others for one subject (a node, a bucket, a backup repository) at most once in ten minutes, for one disk once in twelve hours. This version never raises `auto_failover_disabled`, `indexer_ram_max_usage` and `disk_usage_analyzer_stuck`',
      ),
      setting(
        'pop_up_alerts',
        'all',
        kinds,
        'live',
        'effective',
        'others have `disableUIPopUp` in the list of `/pools/default`. That list has no alerts of auto-failover, which are in the list of events',
      ),
      setting('sender', '`divan@localhost`', address, 'live', 'effective'),
      setting('emailHost', '`localhost`', 'a name or address', 'live', 'effective'),
      setting('emailPort', '25', '1–65535', 'live', 'effective'),
      setting(
        'emailEncrypt',
        '`false`',
        '`true`, `false`',
        'live',
        'effective',
        '`true`: TLS from the first byte on port 465, STARTTLS on others, with a certificate that the machine or the cluster trusts; `false`: TLS if the server offers it, with any certificate',
      ),
      setting('emailUser', 'empty: no authentication', 'up to 1024 bytes', 'live', 'effective'),
      setting('emailPass', 'empty', 'up to 1024 bytes', 'live', 'effective', 'stored encrypted, never shown'),
    ],
  },
  {
    title: 'Limits of alerts',
    routes: ['alerts.change_limits'],
    settings: [
      setting(
        'maxOverheadPerc',
        '50',
        '0–100',
        'live',
        'effective',
        'share of a bucket’s quota that headers and the index of keys use',
      ),
      setting(
        'maxDiskUsedPerc',
        '90',
        '0–100',
        'live',
        'effective',
        'used share of the file system with the data',
      ),
      setting('maxIndexerRamPerc', '75', '0–100', 'live', 'index'),
      setting(
        'memoryNoticeThreshold',
        '-1',
        '-1–100; -1: never',
        'live',
        'effective',
        'memory of the machine in use',
      ),
      setting('memoryWarningThreshold', '90', '-1–100; -1: never', 'live', 'effective'),
      setting('memoryCriticalThreshold', '95', '-1–100; -1: never', 'live', 'effective'),
    ],
  },
  {
    title: 'Test mails',
    routes: tests,
    settings: [
      setting('subject', '`Test email from Divan`', 'up to 900 bytes', 'live', 'effective'),
      setting('body', 'a sentence', 'any text', 'live', 'effective'),
    ],
  },
];
