// Parameters of automatic reactions to failed nodes.
import { type SettingGroup, setting } from './setting.ts';

const enterprise = 'enterprise edition only';

export const failoverParameters: readonly SettingGroup[] = [
  {
    title: 'Auto-failover',
    routes: ['auto_failover.change'],
    settings: [
      setting('enabled', '`true`; required', '`true`, `false`', 'live', 'effective'),
      setting(
        'timeout',
        '120; required with `enabled=true`',
        '5–3600 seconds; community 30–3600',
        'live',
        'effective',
      ),
      setting('maxCount', '1', '1–100', 'live', 'effective', enterprise),
      setting(
        'failoverOnDataDiskIssues[enabled]',
        '`false`',
        '`true`, `false`',
        'live',
        'effective',
        enterprise,
      ),
      setting(
        'failoverOnDataDiskIssues[timePeriod]',
        '120; required with `failoverOnDataDiskIssues[enabled]=true`',
        '5–3600 seconds',
        'live',
        'effective',
        enterprise,
      ),
      setting('canAbortRebalance', '`true`', '`true`, `false`', 'live', 'effective', enterprise),
    ],
  },
  {
    title: 'Auto-reprovision',
    routes: ['auto_reprovision.change'],
    settings: [
      setting('enabled', '`true`; required', '`true`, `false`', 'live', 'reprovision'),
      setting('maxNodes', '1; required with `enabled=true`', '1 and up', 'live', 'reprovision'),
    ],
  },
  {
    title: 'Failover',
    routes: ['failover.change'],
    settings: [
      setting(
        'preserveDurableMutations',
        '`true`',
        '`true`, `false`',
        'live',
        'effective',
        'automatic failovers preserve durable writes; those on request do, except with `allowUnsafe=true`',
      ),
    ],
  },
];
