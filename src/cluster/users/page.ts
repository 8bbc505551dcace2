// One page of a sorted list, and links to the others.

export interface PageQuery {
  readonly pageSize: number;
  readonly order: 'asc' | 'desc';
  /** The page starts with the item of this id or, if it no longer exists, with the next one. */
  readonly startFrom?: string | undefined;
  /** The sort key of that item, by which its place is found if it no longer exists. */
  readonly startFromValue?: string | undefined;
}

export interface Page<T> {
  readonly total: number;
  /** The number of items before the page. */
  readonly skipped: number;
  readonly items: readonly T[];
  readonly links: Readonly<Record<string, string>>;
}

export interface PageOptions<T> {
  /** Absent: items are sorted by id. */
  readonly sortKey?: ((item: T) => string) | undefined;
  /** Which of several items of one id it is, and which the page starts with; absent: ids are unique. */
  readonly variant?: { readonly of: (item: T) => string; readonly start: string | undefined };
  /** A path and query to which the start is added. */
  readonly link: string;
  readonly startParams: (item: T) => Record<string, string>;
}

/** What items are sorted by: the sort key, the id, the variant. */
type Rank = readonly [string, string, string];

/** Sorts by `sortKey`, then by id. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  query: PageQuery,
  options: PageOptions<T>,
): Page<T> {
  const { sortKey, variant, link } = options;
  const direction = query.order === 'asc' ? 1 : -1;
  const compare = (a: Rank, b: Rank): number => direction * compareRanks(a, b);
  const rank = (item: T): Rank => [sortKey?.(item) ?? '', item.id, variant?.of(item) ?? ''];
  const sorted = all.map((item) => ({ item, rank: rank(item) })).sort((a, b) => compare(a.rank, b.rank));
  const start = startIndex(
    sorted.map((entry) => entry.rank),
    query,
    options,
    compare,
  );
  const end = Math.min(sorted.length, start + query.pageSize);
  const linkTo = (index: number): string => {
    const item = sorted[index]?.item;
    if (item === undefined) return link;
    const value = sortKey && { startFromValue: sortKey(item) };
    return `${link}&${new URLSearchParams({ ...options.startParams(item), ...value })}`;
  };
  const links: Record<string, string> = {};
  if (start > 0) {
    links['first'] = link;
    links['prev'] = linkTo(Math.max(0, start - query.pageSize));
  }
  if (end < sorted.length) {
    links['next'] = linkTo(end);
    links['last'] = linkTo(Math.max(end, sorted.length - query.pageSize));
  }
  const items = sorted.slice(start, end).map(({ item }) => item);
  return { total: sorted.length, skipped: start, items, links };
}

function startIndex<T>(
  ranks: readonly Rank[],
  { startFrom, startFromValue }: PageQuery,
  { sortKey, variant }: PageOptions<T>,
  compare: (a: Rank, b: Rank) => number,
): number {
  if (startFrom === undefined) return 0;
  const startVariant = variant?.start ?? '';
  const exact = ranks.findIndex(([, id, own]) => id === startFrom && own === startVariant);
  if (exact >= 0) return exact;
  // Without the sort key of the missing item its place is unknown: the first page skips nothing.
  if (sortKey !== undefined && startFromValue === undefined) return 0;
  const missing: Rank = [sortKey === undefined ? '' : (startFromValue ?? ''), startFrom, startVariant];
  const next = ranks.findIndex((rank) => compare(rank, missing) > 0);
  return next < 0 ? ranks.length : next;
}

const compareRanks = (a: Rank, b: Rank): number =>
  compareText(a[0], b[0]) || compareText(a[1], b[1]) || compareText(a[2], b[2]);

const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
