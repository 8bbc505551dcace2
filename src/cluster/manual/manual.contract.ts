// Routes of the manual.

import { field, openForm } from '#contract/fields.ts';
import { defineRoute, type RouteDefinition } from '#contract/route.ts';

const shared = {
  method: 'GET',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
} as const satisfies Partial<RouteDefinition>;

const answer = { text: 'text/html' } as const;
const otherStatuses = { 404: 'There is no such page.' } as const;

export const GetManual = defineRoute({
  ...shared,
  id: 'manual.start',
  path: '/docs',
  answer,
  doc: 'The first page of the manual.',
});

export const SearchManual = defineRoute({
  ...shared,
  id: 'manual.search',
  path: '/docs/search',
  query: openForm({ q: field.text().optional() }),
  answer,
  doc: 'The parts of the manual that contain all words of `q`.',
});

export const GetManualImage = defineRoute({
  ...shared,
  id: 'manual.image',
  path: '/docs/images/:image',
  answer: { text: 'image/webp' },
  otherStatuses: { 404: 'There is no such picture.' },
  doc: 'A picture of the manual.',
});

export const GetManualPage = defineRoute({
  ...shared,
  id: 'manual.page',
  path: '/docs/:page*',
  answer,
  otherStatuses,
  doc: 'A page of the manual, such as `/docs/guides/query`.',
});
