// Maps set-up requests to the services.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, type Context, type Form, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import type { NetworkService } from '../encryption/network.service.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { IndexSettings } from './index-settings.ts';
import type { MemoryService } from './memory.service.ts';
import { problemsOfOtherNode } from './node-folders.ts';
import type { NodeSetupService } from './node-setup.service.ts';
import * as contract from './provisioning.contract.ts';
import type { Administrators, ProvisioningService } from './provisioning.service.ts';
import type { StatsSettings } from './stats-settings.ts';

export interface ProvisioningRoutesDeps {
  view: ClusterView;
  provisioning: ProvisioningService;
  memory: MemoryService;
  nodeSetup: NodeSetupService;
  network: NetworkService;
  administrators: Administrators;
  stats: StatsSettings;
  indexes: IndexSettings;
}

const settingsPaths = {
  data: 'path',
  index: 'index_path',
  analytics: 'cbas_path',
  eventing: 'eventing_path',
  javaHome: 'java_home',
};

export const provisioningRoutes = (deps: ProvisioningRoutesDeps): BoundRoute[] => [
  ...nodeRoutes(deps),
  ...clusterSetUpRoutes(deps),
  ...settingsRoutes(deps),
];

function nodeRoutes({ nodeSetup, provisioning, network, view }: ProvisioningRoutesDeps): BoundRoute[] {
  const pathsReply = (problems: string[]) => {
    if (problems.length > 0) throw nodeRefusals.invalidPaths(problems);
    return reply.empty();
  };
  const setPaths = async (body: Form) => {
    return pathsReply(await nodeSetup.setPaths(body, settingsPaths));
  };
  const networkChange =
    (call: 'setUp' | 'enable' | 'disable' | 'disableUnused') =>
    async ({ body, justValidate }: { body: Form; justValidate: boolean }) => {
      await network[call](body, justValidate);
      return reply.empty();
    };
  return [
    bind(contract.SetNodePaths, ({ body }) => setPaths(body)),
    bind(contract.SetNamedNodePaths, ({ params, body }) => {
      const { self, cluster } = view;
      if (params['node'] === self.otpNode) return setPaths(body);
      const other = cluster.nodes.find(({ otpNode }) => otpNode === params['node']);
      if (other === undefined) throw generalRefusals.notFound();
      return pathsReply(problemsOfOtherNode(body, settingsPaths, other.paths));
    }),
    bind(contract.Rename, async ({ body }) => {
      await nodeSetup.rename(body['hostname']);
      return reply.empty();
    }),
    bind(contract.InitNode, async ({ body, justValidate }) => {
      await provisioning.initNode(body, justValidate);
      return reply.empty();
    }),
    bind(contract.SetupNetwork, networkChange('setUp')),
    bind(contract.EnableListener, networkChange('enable')),
    bind(contract.DisableListener, networkChange('disable')),
    bind(contract.DisableUnusedListeners, networkChange('disableUnused')),
    bind(contract.SetAlternate, async ({ body }) => {
      await nodeSetup.setAlternate(body);
      return reply.empty();
    }),
    bind(contract.RemoveAlternate, async () => {
      await nodeSetup.removeAlternate();
      return reply.empty();
    }),
  ];
}

function clusterSetUpRoutes(deps: ProvisioningRoutesDeps): BoundRoute[] {
  const { provisioning, memory, administrators, view } = deps;
  const port = () => view.self.ports.mgmt;
  const newBase = (context: Context) => reply.json({ newBaseUri: `http://${context.host}:${port()}/` });
  return [
    bind(contract.SetServices, async ({ body, justValidate }) => {
      await provisioning.setServices(body, justValidate);
      return reply.empty();
    }),
    bind(contract.ChangePool, async ({ body, justValidate }) => {
      await memory.changePool(body, justValidate);
      return reply.empty();
    }),
    bind(contract.GetWeb, () =>
      reply.json({ port: port(), username: administrators.administratorName() ?? '' }),
    ),
    bind(contract.SetWeb, async ({ body, justValidate }, context) => {
      await provisioning.setWeb(body, justValidate);
      return newBase(context);
    }),
    bind(contract.InitCluster, async ({ body, justValidate }, context) => {
      await provisioning.initCluster(body, justValidate);
      return newBase(context);
    }),
  ];
}

function settingsRoutes({ stats, indexes }: ProvisioningRoutesDeps): BoundRoute[] {
  return [
    bind(contract.GetStatsSettings, async () => reply.json(await stats.read())),
    bind(contract.SetStatsSettings, async ({ body, justValidate }) => {
      const changes = stats.readForm(body);
      if (!justValidate) await stats.change(changes);
      return reply.empty();
    }),
    bind(contract.GetIndexSettings, async () => reply.json(await indexes.read())),
    bind(contract.SetIndexSettings, async ({ body, justValidate }) => {
      const changes = indexes.readForm(body);
      return reply.json(justValidate ? {} : await indexes.change(changes));
    }),
  ];
}
