// Maps requests about the data service's settings to the keys that hold them. A change is answered once the data service of this node
// has applied it, or after a short time limit.
import { type BoundRoute, bind, type Form, reply } from '#contract/route.ts';
import { applyWaitMs } from '../config/apply-wait.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { DataService } from '../config/data-service.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import * as contract from './data-settings.contract.ts';
import {
  type DataSettings,
  effectiveDataSettings,
  globalDataSetting,
  nodeDataSetting,
  readDataForm,
} from './data-settings.ts';

export interface DataSettingsDeps {
  settings: SettingsStore;
  view: ClusterView;
  data: Pick<DataService, 'applied'>;
}

export function dataSettingsRoutes({ settings, view, data }: DataSettingsDeps): BoundRoute[] {
  const read = (name: string): Promise<DataSettings> => settings.read<DataSettings>(name, {});
  const replace = async (name: string, next: (before: DataSettings) => DataSettings): Promise<void> => {
    await data.applied(await settings.replace<DataSettings>(name, {}, next), applyWaitMs);
  };
  const change = async (name: string, form: Form) => {
    const { changes, problems } = readDataForm(form);
    if (Object.keys(problems).length > 0) throw settingsRefusals.invalidDataSettings(problems);
    await replace(name, (before) => ({ ...before, ...changes }));
    return reply.json(await read(name), 202);
  };
  const idOf = (node: string | undefined): string => {
    if (node === 'self') return view.self.uuid;
    const found = view.cluster.nodes.find(({ otpNode }) => otpNode === node);
    if (found === undefined) throw settingsRefusals.noDataSetting();
    return found.uuid;
  };
  const nameFor = (node: string | undefined): string => nodeDataSetting(idOf(node));
  const storedValue = async (node: string | undefined, name = '') => {
    const all = await read(nameFor(node));
    if (!Object.hasOwn(all, name)) throw settingsRefusals.noDataSetting();
    return { name, value: all[name] };
  };
  return [
    bind(contract.GetGlobal, async () => reply.json(await read(globalDataSetting))),
    bind(contract.SetGlobal, ({ body }) => change(globalDataSetting, body)),
    bind(contract.GetNode, async ({ params }) => reply.json(await read(nameFor(params['node'])))),
    bind(contract.SetNode, ({ params, body }) => change(nameFor(params['node']), body)),
    bind(contract.GetNodeSetting, async ({ params }) => {
      const { value } = await storedValue(params['node'], params['setting']);
      return reply.json({ value });
    }),
    bind(contract.RemoveNodeSetting, async ({ params }) => {
      const { name } = await storedValue(params['node'], params['setting']);
      await replace(nameFor(params['node']), ({ [name]: _gone, ...rest }) => rest);
      return reply.json([], 202);
    }),
    bind(contract.GetEffective, ({ params }) =>
      reply.json(effectiveDataSettings(view, idOf(params['node']))),
    ),
  ];
}
