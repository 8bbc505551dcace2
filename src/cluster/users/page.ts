// One page of a sorted list, and links to the others.

export interface PageQuery {
  readonly pageSize: number;
  readonly order: 'asc' | 'desc';
  /** The page starts with the item of this id or, if it no longer exists, with the next one. */
  readonly startFrom?: string | undefined;
}

export interface Page<T> {
  readonly total: number;
  /** The number of items before the page. */
  readonly skipped: number;
  readonly items: readonly T[];
  readonly links: Readonly<Record<string, string>>;
}

export interface PageOptions<T> {
  readonly sortKey: (item: T) => string;
  /** A path and query to which the start is added. */
  readonly link: string;
  readonly startParams: (item: T) => Record<string, string>;
  /** Which of several items with the id of `startFrom` the page starts with; absent: ids are unique. */
  readonly isStart?: (item: T) => boolean;
}

/** Sorts by `sortKey`, then by id. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  query: PageQuery,
  options: PageOptions<T>,
): Page<T> {
  const direction = query.order === 'asc' ? 1 : -1;
  const rank = (item: T) => [options.sortKey(item), item.id] as const;
  const sorted = [...all].sort((a, b) => direction * compare(rank(a), rank(b)));
  const start = startIndex(sorted, query, direction, options.isStart);
  const end = Math.min(sorted.length, start + query.pageSize);
  const linkTo = (index: number) => linkFrom(options.link, sorted[index], options.startParams);
  const links: Record<string, string> = {};
  if (start > 0) {
    links['first'] = options.link;
    links['prev'] = linkTo(Math.max(0, start - query.pageSize));
  }
  if (end < sorted.length) {
    links['next'] = linkTo(end);
    links['last'] = linkTo(Math.max(end, sorted.length - query.pageSize));
  }
  return { total: sorted.length, skipped: start, items: sorted.slice(start, end), links };
}

function startIndex<T extends { readonly id: string }>(
  sorted: readonly T[],
  query: PageQuery,
  direction: number,
  isStart: (item: T) => boolean = () => true,
): number {
  const { startFrom } = query;
  if (startFrom === undefined) return 0;
  const exact = sorted.findIndex((item) => item.id === startFrom && isStart(item));
  if (exact >= 0) return exact;
  const after = sorted.findIndex((item) => direction * compareText(item.id, startFrom) > 0);
  return after < 0 ? sorted.length : after;
}

const linkFrom = <T>(link: string, item: T | undefined, params: (item: T) => Record<string, string>) =>
  item === undefined ? link : `${link}&${new URLSearchParams(params(item))}`;

const compare = (a: readonly [string, string], b: readonly [string, string]) =>
  compareText(a[0], b[0]) || compareText(a[1], b[1]);

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
