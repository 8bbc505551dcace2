// A row of a cluster in the cloud's database.
import type { ClusterRow } from '#cloud/store/tables.ts';

export const aClusterRow = (changes: Partial<ClusterRow> = {}): ClusterRow => ({
  id: 'c',
  environment: 'vpc',
  name: 'c',
  project_id: 'p',
  cloud_id: null,
  description: '',
  spec: '{"servers":[{"services":["data"]}]}',
  node_count: 1,
  phase: 'ready',
  home: 'here',
  administrator_sealed: '',
  certificate: null,
  created_at: 0,
  updated_at: 0,
  deployed_at: null,
  ...changes,
});
