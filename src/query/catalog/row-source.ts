// What the rows of the catalog are made from.
import type { Session } from '../access/session.ts';
import type { QueryParts } from '../state/parts.ts';

export interface RowSource {
  readonly service: QueryParts;
  readonly session: Session;
  /** Called for each row that is left out because the user may not see it. */
  readonly leftOut?: () => void;
  /** Called when rows of other nodes are missing. */
  readonly warn?: (warning: Error) => void;
}

/** For filters of rows: returns `isVisible`, and calls `leftOut` for a row that is not visible. */
export function showRow(source: RowSource, isVisible: boolean): boolean {
  if (!isVisible) source.leftOut?.();
  return isVisible;
}
