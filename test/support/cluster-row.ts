// A cluster as the cloud's database keeps it, for tests of what works on one.
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
