// Maps requests about the internal settings to the key that holds them.
import { integerOf } from '#base/decimal.ts';
import { type BoundRoute, bind, type Form, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import * as contract from './internal-settings.contract.ts';
import {
  type InternalSettings,
  internalDefaults,
  internalSetting,
  numberRules,
  readInternalForm,
} from './internal-settings.ts';

export function internalSettingsRoutes(settings: SettingsStore, view: ClusterView): BoundRoute[] {
  const read = (): Promise<InternalSettings> => settings.read(internalSetting, internalDefaults);
  const change = (changes: Partial<InternalSettings>) =>
    settings.change(internalSetting, internalDefaults, changes);
  const indexers = (all: InternalSettings) =>
    reply.json(contract.parallelIndexersAnswer(all, view.self.otpNode));
  return [
    bind(contract.GetInternalSettings, async () => reply.json(contract.internalAnswer(await read()))),
    bind(contract.SetInternalSettings, async ({ body }) => {
      const { changes, problems } = readInternalForm(body);
      if (problems.length > 0) throw settingsRefusals.invalidInternal(problems);
      await change(changes);
      return reply.empty();
    }),
    bind(contract.GetParallelIndexers, async () => indexers(await read())),
    bind(contract.SetParallelIndexers, async ({ body }) =>
      indexers(await change({ maxParallelIndexers: parallelIndexers(body) })),
    ),
  ];
}

function parallelIndexers(form: Form): number {
  const { min, max } = numberRules.maxParallelIndexers;
  const value = integerOf(form['globalValue'] ?? '');
  if (value !== null && value >= min && value <= max) return value;
  const problem = value === null ? 'invalid' : value < min ? 'too_small' : 'too_large';
  throw settingsRefusals.invalidParallelIndexers({ problem });
}
