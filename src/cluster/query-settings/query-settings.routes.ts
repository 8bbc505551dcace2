// Maps requests about the query service's settings to the keys that hold them. A change is answered once the service has
// applied it, or after a short time limit.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { CurlAllowlist } from '#query/query.contract.ts';
import { applyWaitMs } from '../config/apply-wait.ts';
import type { DataService } from '../config/data-service.ts';
import type { SettingsStore } from '../config/settings.store.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import * as contract from './query-settings.contract.ts';
import {
  curlSetting,
  noCurl,
  type QuerySettings,
  queryDefaults,
  querySetting,
  readCurlAllowlist,
  readQueryForm,
} from './query-settings.ts';

export interface QuerySettingsDeps {
  settings: SettingsStore;
  data: Pick<DataService, 'applied'>;
}

export function querySettingsRoutes({ settings, data }: QuerySettingsDeps): BoundRoute[] {
  const curl = (): Promise<CurlAllowlist> => settings.read<CurlAllowlist>(curlSetting, noCurl);
  const settingsReply = async () => ({
    ...queryDefaults,
    ...(await settings.read<QuerySettings>(querySetting, {})),
    queryCurlWhitelist: await curl(),
  });
  return [
    bind(contract.GetQuerySettings, async () => reply.json(await settingsReply())),
    bind(contract.SetQuerySettings, async ({ body }) => {
      const { changes, problems } = readQueryForm(body);
      if (Object.keys(problems).length > 0) throw generalRefusals.invalidFields(problems);
      const revision = await settings.replace<QuerySettings>(querySetting, {}, (before) => ({
        ...before,
        ...changes,
      }));
      await data.applied(revision, applyWaitMs);
      return reply.json(await settingsReply());
    }),
    bind(contract.GetCurlAllowlist, async () => reply.json(await curl())),
    bind(contract.SetCurlAllowlist, async ({ body }) => {
      const list = readCurlAllowlist(body);
      if (typeof list === 'string') throw settingsRefusals.invalidCurlAllowlist({ problem: list });
      const revision = await settings.replace<CurlAllowlist>(curlSetting, noCurl, (before) => ({
        ...before,
        ...list,
      }));
      await data.applied(revision, applyWaitMs);
      return reply.json(await curl());
    }),
  ];
}
