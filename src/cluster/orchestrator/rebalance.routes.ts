// Maps requests about rebalances to the service, and those about their settings to the keys that hold them.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { Clock } from '#ports/clock.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { FormReader } from '../forms/form-reader.ts';
import { internalDefaults, internalSetting } from '../internal-settings/internal-settings.ts';
import { rebalanceRefusals } from '../refusals/rebalance.refusals.ts';
import * as contract from './rebalance.contract.ts';
import type { RebalanceService } from './rebalance.service.ts';
import { lastReport } from './rebalance-report.ts';
import { pendingRetry, retryDefaults, retryPeriodRange, retrySetting } from './rebalance-retry.ts';

export interface RebalanceRoutesDeps {
  service: RebalanceService;
  settings: SettingsStore;
  view: Pick<ClusterView, 'cluster'>;
  clock: Clock;
}

const movesRange = { min: 1, max: 64 };

export function rebalanceRoutes(deps: RebalanceRoutesDeps): BoundRoute[] {
  const { service, settings } = deps;
  const settingsReply = ({ rebalanceMovesPerNode }: { rebalanceMovesPerNode: number }) =>
    reply.json({ rebalanceMovesPerNode });
  return [
    bind(contract.StartRebalance, async ({ body }) => {
      await service.start(body);
      return reply.empty();
    }),
    bind(contract.StopRebalance, async () => {
      await service.stop();
      return reply.empty();
    }),
    bind(contract.GetRebalanceSettings, async () =>
      settingsReply(await settings.read(internalSetting, internalDefaults)),
    ),
    bind(contract.SetRebalanceSettings, async ({ body }) => {
      const reader = new FormReader(body);
      reader.requireAnyField();
      reader.only(['rebalanceMovesPerNode']);
      const moves = reader.integer('rebalanceMovesPerNode', movesRange.min, movesRange.max);
      reader.refuseIfInvalid();
      const changes = moves === undefined ? {} : { rebalanceMovesPerNode: moves };
      return settingsReply(await settings.change(internalSetting, internalDefaults, changes));
    }),
    bind(contract.GetRebalanceReport, ({ query }) => {
      const report = lastReport(deps.view, query['reportID']);
      if (report === null) throw rebalanceRefusals.noReport();
      return reply.json(report);
    }),
    ...retryRoutes(deps),
  ];
}

const attemptsRange = { min: 1, max: 3 };

function retryRoutes({ service, settings, view, clock }: RebalanceRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetRetrySettings, async () => reply.json(await settings.read(retrySetting, retryDefaults))),
    bind(contract.SetRetrySettings, async ({ body }) => {
      const reader = new FormReader(body);
      reader.only(['enabled', 'afterTimePeriod', 'maxAttempts']);
      reader.required('enabled');
      const enabled = reader.boolean('enabled');
      const afterTimePeriod = reader.integer('afterTimePeriod', retryPeriodRange.min, retryPeriodRange.max);
      const maxAttempts = reader.integer('maxAttempts', attemptsRange.min, attemptsRange.max);
      reader.refuseIfInvalid();
      const changes = {
        ...(enabled !== undefined && { enabled }),
        ...(afterTimePeriod !== undefined && { afterTimePeriod }),
        ...(maxAttempts !== undefined && { maxAttempts }),
      };
      return reply.json(await settings.change(retrySetting, retryDefaults, changes));
    }),
    bind(contract.GetPendingRetry, () => reply.json(pendingRetry(view.cluster, clock.wallMs()))),
    bind(contract.CancelRetry, async ({ params }) => {
      await service.cancelRetry(params['id'] ?? '');
      return reply.empty();
    }),
  ];
}
