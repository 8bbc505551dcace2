// Creates the parts of alerts: the mails, the list that administrators see, and the watch that raises alerts.
import type { Agent } from './agent/agent.ts';
import { AlertList } from './alerts/alert-list.ts';
import { AlertWatch, type AlertWatchDeps } from './alerts/alert-watch.ts';
import { AlertsService } from './alerts/alerts.service.ts';
import { AlertsStore } from './alerts/alerts.store.ts';
import { SharedAlerts, type SharedAlertsDeps } from './alerts/shared-alerts.ts';
import { alertMailed } from './audit/audit-events.ts';
import type { AuditLog } from './audit/audit-log.ts';
import type { ClusterView } from './config/cluster-view.ts';
import { SettingsStore } from './config/settings.store.ts';
import type { EventLog } from './events/event-log.ts';
import type { ClusterManagerOptions } from './manager-options.ts';

interface AlertSources {
  readonly view: ClusterView;
  readonly data: Agent;
  readonly auditLog: AuditLog;
  readonly events: EventLog;
  /** The authorities that mail servers are checked against. */
  readonly trusted: Parameters<ClusterManagerOptions['mailer']>[0];
  /** What this node knows of the other nodes: whether it reaches them, and their clocks. */
  readonly peers: AlertWatchDeps['peers'];
  /** Sends requests to the other nodes. */
  readonly connections: SharedAlertsDeps['peers'];
}

export function createAlerts(options: ClusterManagerOptions, sources: AlertSources) {
  const { auditLog, events, trusted } = sources;
  const alerts = new AlertsService({
    ...options,
    mailed: ({ kind }, recipients) =>
      auditLog.record(alertMailed, {
        user: { name: '@ns_server', domain: 'admin' },
        from: null,
        details: { alert: kind, recipients },
      }),
    lost: (event, reason) => events.record('mail_lost', { kind: event.kind, reason }),
    store: new AlertsStore(new SettingsStore(options.store), options.secrets),
    mailer: options.mailer(trusted),
  });
  const alertList = new AlertList(options.clock);
  const shared = new SharedAlerts({
    view: sources.view,
    nodeId: options.identity.nodeId,
    peers: sources.connections,
    list: alertList,
  });
  const alertWatch = new AlertWatch({
    ...options,
    ...sources,
    list: alertList,
    limits: () => alerts.limits(),
    noted: (alert) => shared.send(alert),
    nameProblem: (name) => options.environment.nameProblem(name),
    raised(kind, text) {
      alerts.raise({ kind, text });
      events.record('alert_raised', { kind, text });
    },
  });
  return { alerts, alertList, alertWatch, sharedAlerts: shared };
}
