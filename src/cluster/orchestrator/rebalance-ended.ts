// What follows the end of a rebalance or a failover: an event is recorded, and a successful rebalance sets the count of automatic failovers
// to 0.
import type { ConfigStore } from '#replog/config-store.ts';
import { FailoverSettingsService } from '../auto-failover/auto-failover.service.ts';
import type { PlanEnd } from '../config/cluster-state.ts';
import { SettingsStore } from '../config/settings.store.ts';
import type { Events } from '../events/events.feature.ts';

export function rebalanceEnded(end: PlanEnd, store: ConfigStore, events: Events['log']): void {
  const { failoversBefore, kind, outcome, reason } = end;
  events.record('rebalance_ended', {
    kind,
    outcome,
    ...(reason !== undefined && { reason: reason.replace(/\.$/, '') }),
  });
  if (failoversBefore === undefined) return;
  const settings = new FailoverSettingsService(new SettingsStore(store));
  // If this fails, the count stays, and an administrator can reset it.
  settings.resetCount(failoversBefore).catch(() => {});
}
