// Routes of the cluster's auto-compaction settings, and their answers.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import type { ClusterAutoCompaction } from '../config/cluster-state.ts';
import { autoCompactionShape } from './auto-compaction.shapes.ts';
import { shownClusterCompaction } from './settings.ts';

const permission = 'cluster.settings.autocompaction';
const readers: Access = {
  kind: 'roles',
  roles: ['admin', 'cluster_admin', 'ro_admin'],
  permission: `${permission}!read`,
};
const writers: Access = {
  kind: 'roles',
  roles: ['admin', 'cluster_admin'],
  permission: `${permission}!write`,
};

export const GetAutoCompaction = defineRoute({
  id: 'auto_compaction.read',
  method: 'GET',
  path: '/settings/autoCompaction',
  access: readers,
  answer: { json: autoCompactionShape },
  doc: 'When buckets without settings of their own are compacted, and when tombstones are purged.',
});

export const SetAutoCompaction = defineRoute({
  id: 'auto_compaction.change',
  method: 'POST',
  path: '/controller/setAutoCompaction',
  access: writers,
  bodyKind: 'form',
  acceptsJustValidate: true,
  answer: { json: shape.array(shape.any) },
  doc: 'Sets when buckets without settings of their own are compacted; takes effect at once.',
});

export const compactionAnswer = (settings: ClusterAutoCompaction) => ({
  autoCompactionSettings: shownClusterCompaction(settings),
  purgeInterval: settings.purgeIntervalDays,
});
