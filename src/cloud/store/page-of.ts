// One page of a table in a given order and the total count, from one snapshot; ids break ties, so that the order is total.
import type { PageParameters } from '../answers/paging.ts';
import type { Store, Tables } from './tables.ts';

type Listed = 'clouds' | 'members' | 'projects' | 'clusters';
type Column<T extends Listed> = string & keyof Tables[T];

export interface List<T extends Listed> {
  readonly table: T;
  /** Selects rows with this value, or one of these, in the column; without a value, all rows. */
  readonly where?: Readonly<Partial<Record<Column<T>, string | readonly string[] | null | undefined>>>;
  readonly column: Column<T>;
  readonly direction?: 'asc' | 'desc' | undefined;
}

export async function pageOf<T extends Listed>(
  store: Store,
  list: List<T>,
  { page, perPage }: PageParameters,
): Promise<{ rows: Tables[T][]; total: number }> {
  const { column, direction = 'asc' } = list;
  // The query builder cannot type columns for a union of tables.
  const all = matching(store, list as unknown as List<'projects'>);
  // The ids are read from an index; only the rows of the page are read from the table.
  const chosen = all
    .select('id as chosen_id')
    .orderBy(column as 'id', direction)
    .orderBy('id', 'asc')
    .limit(perPage)
    .offset((page - 1) * perPage);
  const found = await store
    .selectFrom(all.select((e) => e.fn.countAll<number>().as('total')).as('counted'))
    .leftJoin(chosen.as('chosen'), (join) => join.onTrue())
    .leftJoin(`${list.table} as listed` as 'projects as listed', 'listed.id', 'chosen_id')
    .selectAll('listed')
    .select('total')
    .orderBy(`listed.${column as 'id'}`, direction)
    .orderBy('listed.id', 'asc')
    .execute();
  const rows = found.filter(({ id }) => id !== null).map(({ total: _, ...row }) => row);
  return { rows: rows as unknown as Tables[T][], total: Number(found[0]?.total) };
}

function matching(store: Store, { table, where = {} }: List<'projects'>) {
  let rows = store.selectFrom(table);
  for (const [column, value] of Object.entries(where)) {
    if (typeof value === 'string') rows = rows.where(column as 'id', '=', value);
    else if (value != null) rows = rows.where(column as 'id', 'in', value);
  }
  return rows;
}
