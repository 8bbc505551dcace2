// One page of a table in a given order; ids break ties, so that every order is whole.
import type { SelectQueryBuilder } from 'kysely';
import type { Page } from '../http/paging.ts';
import type { Tables } from './tables.ts';

type Listed = 'clouds' | 'members' | 'projects' | 'clusters';

export async function pageOf<T extends Listed>(
  query: SelectQueryBuilder<Tables, T, object>,
  { page, perPage }: Page,
  column: string & keyof Tables[T],
  direction: 'asc' | 'desc' = 'asc',
): Promise<{ rows: Tables[T][]; total: number }> {
  // The columns are the table's own: what the builder cannot tell of a union of tables.
  const plain = query as unknown as SelectQueryBuilder<Tables, 'projects', object>;
  const { total } = await plain.select((e) => e.fn.countAll<number>().as('total')).executeTakeFirstOrThrow();
  const inOrder = (of: typeof plain): typeof plain =>
    of.orderBy(column as 'id', direction).orderBy('id', 'asc');
  // Ids come from an index alone; only the rows of the page are read.
  const ids = inOrder(plain)
    .select('id')
    .limit(perPage)
    .offset((page - 1) * perPage);
  const rows = await inOrder(plain).where('id', 'in', ids).selectAll().execute();
  return { rows: rows as unknown as Tables[T][], total: Number(total) };
}
