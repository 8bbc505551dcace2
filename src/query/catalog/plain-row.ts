// A row of the catalog before the language sees it.
import type { Session } from '../access/session.ts';
import type { QueryParts } from '../state/parts.ts';

/** Plain JSON values; undefined members are left out. */
export interface PlainRow {
  readonly id: string;
  readonly value: unknown;
}

export interface RowSource {
  readonly service: QueryParts;
  readonly session: Session;
}
