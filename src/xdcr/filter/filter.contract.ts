// Checks filter expressions before they are stored.
import { FilterError } from './filter-error.ts';

/** Says what is wrong with the expression; null: nothing, or it is empty. */
export async function filterProblem(expression: string): Promise<string | null> {
  if (expression.trim() === '') return null;
  // The engine of regular expressions takes memory and time to load: only nodes with filters need it.
  const { parseFilter } = await import('./parser.ts');
  try {
    parseFilter(expression);
    return null;
  } catch (error) {
    if (error instanceof FilterError) return `Filter expression is invalid: ${error.message}`;
    throw error;
  }
}

/** Whether a valid expression needs nothing of a document but its key. */
export async function readsKeysOnly(expression: string): Promise<boolean> {
  const [{ parseFilter }, { pathsOf }] = await Promise.all([import('./parser.ts'), import('./evaluate.ts')]);
  return pathsOf(parseFilter(expression)).every(({ root }) => root === 'id');
}
