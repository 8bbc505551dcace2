// Maps requests about server groups to the service.
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { ClusterView } from '../config/cluster-view.ts';
import { groupsOf, groupsRevision, nodesInGroup } from './groups.ts';
import * as contract from './server-groups.contract.ts';
import type { ServerGroupsService } from './server-groups.service.ts';

export interface ServerGroupRoutesDeps {
  view: Pick<ClusterView, 'cluster'>;
  service: ServerGroupsService;
}

export function serverGroupRoutes({ view, service }: ServerGroupRoutesDeps): BoundRoute[] {
  const done = reply.json([]);
  return [
    bind(contract.ListServerGroups, () => {
      const { cluster } = view;
      const groups = groupsOf(cluster).map((group) => ({ group, nodes: nodesInGroup(cluster, group.uuid) }));
      return reply.json(contract.groupsAnswer(groups, groupsRevision(cluster)));
    }),
    bind(contract.CreateServerGroup, async ({ body }) => {
      await service.create(body);
      return done;
    }),
    bind(contract.MoveServers, async ({ query, body }) => {
      await service.move(query['rev'], body);
      return done;
    }),
    bind(contract.RenameServerGroup, async ({ params, body }) => {
      await service.rename(params['uuid'] ?? '', body);
      return done;
    }),
    bind(contract.DeleteServerGroup, async ({ params }) => {
      await service.delete(params['uuid'] ?? '');
      return done;
    }),
  ];
}
