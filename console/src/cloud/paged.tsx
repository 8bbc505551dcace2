// Lists that the cloud sends page by page.
import { useEffect, useState } from 'preact/hooks';
import { Loaded } from '../kit/notices.tsx';
import { Pages, Table, type TableProps } from '../kit/table.tsx';
import { type Resource, useResource } from '../kit/use-resource.ts';

const perPage = 20;

interface PageOf<T> {
  readonly cursor: { readonly pages: { readonly last?: number | undefined; readonly totalItems: number } };
  readonly data: readonly T[];
}

interface Paged<T> extends Resource<PageOf<T>> {
  readonly page: number;
  setPage(page: number): void;
}

type Load<T> = (query: { page: string; perPage: string }, signal: AbortSignal) => Promise<PageOf<T>>;

/** Starts with the first page again when one of `keys` changes. */
export function usePaged<T>(
  load: Load<T>,
  keys: readonly unknown[] = [],
  everyMs: number | ((page: PageOf<T>) => number) = 0,
): Paged<T> {
  const [page, setPage] = useState(1);
  const resource = useResource(
    (signal) => load({ page: String(page), perPage: String(perPage) }, signal),
    [page, ...keys],
    everyMs,
  );
  useEffect(() => setPage(1), keys);
  const last = resource.data?.cursor.pages.last ?? page;
  // What was on the last page may have been deleted.
  useEffect(() => {
    if (page > last) setPage(last);
  }, [page, last]);
  return { ...resource, page, setPage };
}

interface PagedTableProps<T> extends Omit<TableProps<T>, 'rows' | 'pageRows'> {
  readonly paged: Paged<T>;
}

export function PagedTable<T>({ paged, ...table }: PagedTableProps<T>) {
  return (
    <Loaded from={paged}>
      {({ cursor: { pages }, data }) => (
        <>
          <Table {...table} rows={data} />
          {(pages.last ?? 1) > 1 && (
            <Pages
              at={paged.page - 1}
              last={(pages.last ?? 1) - 1}
              rows={pages.totalItems}
              onPage={(at) => paged.setPage(at + 1)}
            />
          )}
        </>
      )}
    </Loaded>
  );
}
