// Paging of lists: query parameters, and links to the other pages.
import { z } from 'zod';

const perPageDefault = 10;
const perPageMax = 100;
const pageMax = 1_000_000;

const positive = (max: number) =>
  z
    .string('must be given once')
    .regex(/^\d{1,7}$/, `must be a number from 1 to ${max}`)
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, `must be from 1 to ${max}`);

const described = (description: string, max: number) => ({
  description,
  type: 'integer',
  minimum: 1,
  maximum: max,
  // Removes the pattern of the text, which does not belong to an integer.
  pattern: undefined,
});

export const pageQuery = {
  page: positive(pageMax).default(1).meta(described('which page, from 1', pageMax)),
  perPage: positive(perPageMax)
    .default(perPageDefault)
    .meta(described('how many items on a page', perPageMax)),
};

export interface PageParameters {
  readonly page: number;
  readonly perPage: number;
}

export interface Sort<Key extends string = string> {
  readonly key: Key;
  readonly direction: 'asc' | 'desc';
}

/** `sortBy=<key>.<asc|desc>` over the keys given. */
export const sortBy = <const Key extends string>(keys: readonly Key[]) =>
  z
    .string('must be given once')
    .transform((text, context): Sort<Key> => {
      const [, name, direction] = /^(\w+)\.(asc|desc)$/.exec(text) ?? [];
      const key = keys.find((each) => each === name);
      if (key !== undefined && direction !== undefined)
        return { key, direction: direction as Sort['direction'] };
      context.addIssue(`must be <key>.<asc|desc> with one of the keys ${keys.join(', ')}`);
      return z.NEVER;
    })
    .optional()
    .describe(`order: <key>.<asc|desc>, keys ${keys.join(', ')}`);

const count = z.int().min(0);

export const cursorSchema = z
  .object({
    pages: z.object({
      page: count.optional(),
      next: count.optional(),
      previous: count.optional(),
      last: count.optional(),
      perPage: count.optional(),
      totalItems: count,
    }),
    hrefs: z.object({
      first: z.url(),
      last: z.url().optional(),
      previous: z.url().optional(),
      next: z.url().optional(),
    }),
  })
  .meta({ id: 'cursor' });

/** An empty list has one page without items. */
export function cursorOf(
  { page, perPage }: PageParameters,
  totalItems: number,
  url: URL,
): z.output<typeof cursorSchema> {
  const last = Math.max(1, Math.ceil(totalItems / perPage));
  const previous = page > 1 ? Math.min(page - 1, last) : undefined;
  const next = page < last ? page + 1 : undefined;
  const href = (to: number): string => hrefOf(url, to, perPage);
  return {
    pages: { page, perPage, last, totalItems, ...(previous && { previous }), ...(next && { next }) },
    hrefs: {
      first: href(1),
      last: href(last),
      ...(previous && { previous: href(previous) }),
      ...(next && { next: href(next) }),
    },
  };
}

function hrefOf(url: URL, page: number, perPage: number): string {
  const to = new URL(url);
  to.searchParams.set('page', String(page));
  to.searchParams.set('perPage', String(perPage));
  return to.href;
}
