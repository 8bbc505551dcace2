// Parameters of alerts by mail and of their test mails.
import { type SettingGroup, setting } from './setting.ts';

const tests = ['alerts.test', 'alerts.send_test'];
const address = 'an address';

export const alertParameters: readonly SettingGroup[] = [
  {
    title: 'Alerts by mail',
    routes: ['alerts.change', ...tests],
    settings: [
      setting('enabled', '`false`; required', '`true`, `false`', 'live', 'acts', 'no mark on test mails'),
      setting(
        'recipients',
        '`root@localhost`; required',
        'up to 100 addresses with commas between; none only while not enabled',
        'live',
        'acts',
      ),
      setting(
        'alerts',
        'all four',
        '`auto_failover_node`, `auto_failover_maximum_reached`, `auto_failover_other_nodes_down`, `auto_failover_cluster_too_small`, with commas between',
        'live',
        'replicas',
        'which events send mail; nothing raises them on one node',
      ),
      setting('sender', '`divan@localhost`', address, 'live', 'acts'),
      setting('emailHost', '`localhost`', 'a name or address', 'live', 'acts'),
      setting('emailPort', '25', '1–65535', 'live', 'acts'),
      setting(
        'emailEncrypt',
        '`false`',
        '`true`, `false`',
        'live',
        'acts',
        '`true`: TLS from the first byte on port 465, STARTTLS on others, by a certificate that the machine or the cluster trusts; `false`: TLS where the server offers it, by any certificate',
      ),
      setting('emailUser', 'empty: no authentication', 'up to 1024 bytes', 'live', 'acts'),
      setting('emailPass', 'empty', 'up to 1024 bytes', 'live', 'acts', 'kept encrypted, never shown'),
    ],
  },
  {
    title: 'Test mails',
    routes: tests,
    settings: [
      setting('subject', '`Test email from Divan`', 'up to 900 bytes', 'live', 'acts'),
      setting('body', 'a sentence', 'any text', 'live', 'acts'),
    ],
  },
];
