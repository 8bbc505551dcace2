// The pages of the console, each loaded when it is opened first.
import type { ComponentType } from 'preact';
import type { Address } from './router.ts';

export interface PageProps {
  readonly address: Address;
}

interface PageEntry {
  readonly title: string;
  readonly load: () => Promise<{ readonly Content: ComponentType<PageProps> }>;
}

export const pages: Readonly<Record<string, PageEntry>> = {
  overview: { title: 'Overview', load: () => import('../pages/overview.tsx') },
  buckets: { title: 'Buckets', load: () => import('../pages/buckets.tsx') },
  collections: { title: 'Collections', load: () => import('../pages/collections.tsx') },
  documents: { title: 'Documents', load: () => import('../pages/documents.tsx') },
};
