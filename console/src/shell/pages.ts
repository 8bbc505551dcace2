// The pages of the console of a node.
import type { Pages } from './page-entry.ts';

export const pages: Pages = {
  overview: { title: 'Overview', load: () => import('../pages/overview.tsx') },
  servers: { title: 'Servers', load: () => import('../pages/servers.tsx') },
  buckets: { title: 'Buckets', load: () => import('../pages/buckets.tsx') },
  collections: { title: 'Collections', load: () => import('../pages/collections.tsx') },
  documents: { title: 'Documents', load: () => import('../pages/documents.tsx') },
  query: { title: 'Query', load: () => import('../pages/query.tsx') },
  indexes: { title: 'Indexes', load: () => import('../pages/indexes.tsx') },
  xdcr: { title: 'Replication', load: () => import('../pages/xdcr.tsx') },
  backups: { title: 'Backups', load: () => import('../pages/backups.tsx') },
  metrics: { title: 'Metrics', load: () => import('../pages/metrics.tsx') },
  security: { title: 'Security', load: () => import('../pages/security.tsx') },
  settings: { title: 'Settings', load: () => import('../pages/settings.tsx') },
  logs: { title: 'Events', load: () => import('../pages/logs.tsx') },
};
