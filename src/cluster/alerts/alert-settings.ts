// Who is told of which events by mail, and through which mail server.

/** What an alert can be about; only auto-failover sends mail. */
export const alertKinds = [
  'auto_failover_node',
  'auto_failover_maximum_reached',
  'auto_failover_other_nodes_down',
  'auto_failover_cluster_too_small',
] as const;

export type AlertKind = (typeof alertKinds)[number];

export interface MailServer {
  host: string;
  port: number;
  /** STARTTLS is demanded; port 465 speaks TLS from the first byte. */
  encrypt: boolean;
  user: string;
  password: string;
}

export interface AlertSettings {
  enabled: boolean;
  recipients: string[];
  alerts: AlertKind[];
  sender: string;
  server: MailServer;
}

export const freshAlertSettings: AlertSettings = {
  enabled: false,
  recipients: ['root@localhost'],
  alerts: [...alertKinds],
  sender: 'divan@localhost',
  server: { host: 'localhost', port: 25, encrypt: false, user: '', password: '' },
};
