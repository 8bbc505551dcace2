// Runs statements on the query service of this node.
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
