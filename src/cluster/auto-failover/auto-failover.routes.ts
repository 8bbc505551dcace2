// Routes of the settings of auto-failover, auto-reprovision and failover.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Form, type Reply, reply } from '#contract/route.ts';
import type { Edition } from '../config/cluster-state.ts';
import { FormReader } from '../forms/form-reader.ts';
import * as contract from './auto-failover.contract.ts';
import type { AutoFailoverSettings, FailoverSettingsService } from './auto-failover.service.ts';
import {
  type ReadForm,
  readAutoFailover,
  readAutoReprovision,
  refuseIfInvalid,
} from './auto-failover-form.ts';

export interface AutoFailoverDeps {
  service: FailoverSettingsService;
  edition: Edition;
}

export const autoFailoverRoutes = (deps: AutoFailoverDeps): BoundRoute[] => [
  ...autoFailover(deps),
  ...autoReprovision(deps),
  ...failover(deps),
];

function autoFailover({ service, edition }: AutoFailoverDeps): BoundRoute[] {
  return [
    bind(contract.GetAutoFailover, async () =>
      reply.json(settingsReply(await service.autoFailover(), edition)),
    ),
    bind(contract.ChangeAutoFailover, ({ body, query }) =>
      validateOrChange(query, readAutoFailover(body, edition), (changes) =>
        service.changeAutoFailover(changes),
      ),
    ),
    bind(contract.ResetAutoFailover, async () => {
      await service.changeAutoFailover({ count: 0 });
      return reply.empty();
    }),
  ];
}

function autoReprovision({ service }: AutoFailoverDeps): BoundRoute[] {
  return [
    bind(contract.GetAutoReprovision, async () => {
      const { enabled, maxNodes, count } = await service.autoReprovision();
      return reply.json({ enabled, max_nodes: maxNodes, count });
    }),
    bind(contract.ChangeAutoReprovision, ({ body, query }) =>
      validateOrChange(query, readAutoReprovision(body), (changes) => service.changeAutoReprovision(changes)),
    ),
    bind(contract.ResetAutoReprovision, async () => {
      await service.changeAutoReprovision({ count: 0 });
      return reply.empty();
    }),
  ];
}

function failover({ service }: AutoFailoverDeps): BoundRoute[] {
  return [
    bind(contract.GetFailover, async () => reply.json(await service.failover())),
    bind(contract.ChangeFailover, async ({ body, justValidate }) => {
      const reader = new FormReader(body);
      reader.requireAnyField();
      reader.only(['preserveDurableMutations']);
      const preserveDurableMutations = reader.boolean('preserveDurableMutations') ?? true;
      reader.refuseIfInvalid();
      if (justValidate) return reply.empty();
      return reply.json(await service.changeFailover({ preserveDurableMutations }));
    }),
  ];
}

/** Refusals are lines of text, but fields if the request only validates the form. */
async function validateOrChange<T extends object>(
  query: Form,
  read: ReadForm<T>,
  change: (changes: Partial<T>) => Promise<void>,
): Promise<Reply> {
  const { problems, changes } = read;
  if (query['just_validate'] === '1') {
    if (problems.any) throw generalRefusals.invalidFields(problems.fields);
    return reply.json({ errors: null });
  }
  refuseIfInvalid(read);
  await change(changes);
  return reply.empty();
}

function settingsReply(settings: AutoFailoverSettings, edition: Edition): Record<string, unknown> {
  const { enabled, timeout, count, maxCount, diskIssues, diskPeriod, canAbortRebalance } = settings;
  if (edition === 'community') return { enabled, timeout, count };
  const failoverOnDataDiskIssues = { enabled: diskIssues, timePeriod: diskPeriod };
  return { enabled, timeout, count, failoverOnDataDiskIssues, maxCount, canAbortRebalance };
}
