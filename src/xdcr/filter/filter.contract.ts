// Whether a text is a filter expression, for those who store it.
import { FilterError } from './filter-error.ts';
import { parseFilter } from './parser.ts';

/** Null: it is one, or none is given. */
export function filterProblem(expression: string): string | null {
  if (expression.trim() === '') return null;
  try {
    parseFilter(expression);
    return null;
  } catch (error) {
    if (error instanceof FilterError) return `Filter expression is invalid: ${error.message}`;
    throw error;
  }
}
