// The entry of a page in the list of pages of a console. The browser loads its code when the page is opened for the first time.
import type { ComponentType } from 'preact';
import type { Address } from './router.ts';

export interface PageProps {
  readonly address: Address;
}

interface PageEntry {
  readonly title: string;
  readonly load: () => Promise<{ readonly Content: ComponentType<PageProps> }>;
  /** For a page that is not in the menu: the page whose entry the menu marks instead. */
  readonly within?: string;
}

/** Pages by the first part of their address. An address without parts opens the first of them. */
export type Pages = Readonly<Record<string, PageEntry>>;
