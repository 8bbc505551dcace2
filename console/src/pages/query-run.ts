// Runs statements on the query service of this node, and remembers them in this browser.
import { exactObject } from '../../../src/base/exact-json.ts';
import { ApiError, call } from '../api/client.ts';
import { routes } from '../api/routes.ts';

export interface Outcome {
  readonly rows: readonly unknown[];
  readonly elapsed: string;
  readonly mutations: number;
  readonly warnings: readonly string[];
}

interface Answer {
  readonly results?: readonly unknown[];
  readonly errors?: readonly { readonly code: number; readonly msg: string }[];
  readonly warnings?: readonly { readonly msg: string }[];
  readonly metrics?: { readonly elapsedTime: string; readonly mutationCount?: number };
}

/**
 * Cancels the statement when the signal is aborted. `parameters` is the text of a JSON object, or empty. In rows, whole numbers that a
 * double cannot hold exactly are raw JSON.
 */
export async function runStatement(
  statement: string,
  parameters: string,
  signal: AbortSignal,
): Promise<Outcome> {
  // Numbers reach the server with the digits that were typed.
  const named = parameters.trim() === '' ? {} : exactObject(parameters);
  const answer = await call<Answer>(routes.query, {
    json: { ...named, statement },
    signal,
    exactIntegers: true,
  });
  const problem = problemIn(answer);
  if (problem) throw problem;
  const { results = [], warnings = [], metrics } = answer;
  return {
    rows: results,
    elapsed: metrics?.elapsedTime ?? '',
    mutations: metrics?.mutationCount ?? 0,
    warnings: warnings.map(({ msg }) => msg),
  };
}

const historyKey = 'divan-statements';
const historyMax = 50;

/** The statements that were run, the newest first. */
export function history(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(historyKey) ?? '[]');
    return Array.isArray(stored) ? stored.filter((text) => typeof text === 'string') : [];
  } catch {
    return [];
  }
}

export function addToHistory(statement: string): void {
  const others = history().filter((each) => each !== statement);
  try {
    localStorage.setItem(historyKey, JSON.stringify([statement, ...others].slice(0, historyMax)));
  } catch {
    // The storage of the browser is full: the statement has run, and is not remembered.
  }
}

const savedKey = 'divan-saved-statements';
const savedMax = 200;

/** Statements by their names, in the order of the names. */
export function savedStatements(): Readonly<Record<string, string>> {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(savedKey) ?? '{}');
    const entries = Object.entries(stored ?? {}).filter(([, text]) => typeof text === 'string');
    return Object.fromEntries(entries.sort(([a], [b]) => a.localeCompare(b)));
  } catch {
    return {};
  }
}

/** Saves a statement under the name, or removes the saved one (null); returns all saved statements. */
export function saveStatement(name: string, statement: string | null): Readonly<Record<string, string>> {
  const { [name]: _, ...others } = savedStatements();
  if (statement !== null && Object.keys(others).length >= savedMax)
    throw new Error(`There are ${savedMax} saved statements, which is the most: forget one of them first.`);
  const all = statement === null ? others : { ...others, [name]: statement };
  localStorage.setItem(savedKey, JSON.stringify(all));
  return savedStatements();
}

/**
 * Resolves with the rows of a statement that is sent as a form. Its parameters are JSON texts, so that numbers reach the server with all of
 * their digits.
 */
export async function runForm(form: Readonly<Record<string, string | number>>): Promise<readonly unknown[]> {
  const answer = await call<Answer>(routes.query, { form });
  const problem = problemIn(answer);
  if (problem) throw problem;
  return answer.results ?? [];
}

/** The first problem that the answer of the query service contains. If rows were sent before it, the status of the answer is 200. */
function problemIn({ errors = [] }: Answer): ApiError | null {
  const [first] = errors;
  return first ? new ApiError(200, `${first.msg} (code ${first.code})`) : null;
}
