// Parameters of automatic reactions to failed nodes, which need more than one node.
import { type SettingGroup, setting } from './setting.ts';

const enterprise = 'enterprise edition only';

export const failoverParameters: readonly SettingGroup[] = [
  {
    title: 'Auto-failover',
    routes: ['auto_failover.change'],
    settings: [
      setting('enabled', '`true`; required', '`true`, `false`', 'live', 'replicas'),
      setting(
        'timeout',
        '120; required with `enabled=true`',
        '5–3600 seconds; community 30–3600',
        'live',
        'replicas',
      ),
      setting('maxCount', '1', '1–100', 'live', 'replicas', enterprise),
      setting(
        'failoverOnDataDiskIssues[enabled]',
        '`false`',
        '`true`, `false`',
        'live',
        'replicas',
        enterprise,
      ),
      setting(
        'failoverOnDataDiskIssues[timePeriod]',
        '120; required with `failoverOnDataDiskIssues[enabled]=true`',
        '5–3600 seconds',
        'live',
        'replicas',
        enterprise,
      ),
      setting('canAbortRebalance', '`true`', '`true`, `false`', 'live', 'replicas', enterprise),
    ],
  },
  {
    title: 'Auto-reprovision',
    routes: ['auto_reprovision.change'],
    settings: [
      setting('enabled', '`true`; required', '`true`, `false`', 'live', 'replicas'),
      setting('maxNodes', '1; required with `enabled=true`', '1 and up', 'live', 'replicas'),
    ],
  },
  {
    title: 'Failover',
    routes: ['failover.change'],
    settings: [setting('preserveDurableMutations', '`true`', '`true`, `false`', 'live', 'replicas')],
  },
];
