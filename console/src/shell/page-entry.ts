// What a page of a console is: loaded when it is opened first.
import type { ComponentType } from 'preact';
import type { Address } from './router.ts';

export interface PageProps {
  readonly address: Address;
}

interface PageEntry {
  readonly title: string;
  readonly load: () => Promise<{ readonly Content: ComponentType<PageProps> }>;
  /** The page whose entry of the menu it belongs to; it has none of its own. */
  readonly within?: string;
}

/** By the first part of their address; the first page opens without one. */
export type Pages = Readonly<Record<string, PageEntry>>;
