// Parameters of the audit log.
import { type SettingGroup, setting } from './setting.ts';

export const auditParameters: readonly SettingGroup[] = [
  {
    title: 'Audit log',
    routes: ['audit.change'],
    settings: [
      setting(
        'auditdEnabled',
        '`false`',
        '`true`, `false`',
        'live',
        'effective',
        'independent of the audit trail at `/events`, which is always on',
      ),
      setting(
        'logPath',
        '`logs` in the data folder',
        'an absolute path of a folder that can be written',
        'live',
        'effective',
        '`audit.log`, and up to 100 older files beside it',
      ),
      setting(
        'rotateInterval',
        '86400',
        '900–604800, whole minutes',
        'live',
        'effective',
        'seconds after which a new file is begun',
      ),
      setting('rotateSize', '20971520', '0–524288000; 0: no limit', 'live', 'effective', 'bytes'),
      setting(
        'disabled',
        'the events of query statements',
        'numbers of `/settings/audit/descriptors` separated by commas',
        'live',
        'effective',
      ),
      setting(
        'disabledUsers',
        'none',
        '`name/local`, `name/admin` or `name/external` separated by commas',
        'live',
        'effective',
        'users whose optional events are not logged',
      ),
    ],
  },
];
