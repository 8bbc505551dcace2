// The pages of the console of the cloud.
import type { Pages } from '../shell/page-entry.ts';

export const pages: Pages = {
  projects: { title: 'Projects', load: () => import('./pages/projects.tsx') },
  clusters: { title: 'Clusters', load: () => import('./pages/clusters.tsx') },
  cluster: { title: 'Cluster', load: () => import('./pages/cluster.tsx'), within: 'clusters' },
  organization: { title: 'Organization', load: () => import('./pages/organization.tsx') },
};
