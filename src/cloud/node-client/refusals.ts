// Translates errors of a node into API errors with the cloud's field names.
import { type RestReply, refusedFields } from '#client/rest.adapter.ts';
import { ApiError, invalid } from '../answers/api-error.ts';

type Texts = Readonly<Record<string, string>>;

/** Throws unless the node accepted the request. `names` maps the node's fields to the cloud's; `texts` replaces the node's texts of some fields. */
export function requireAccepted(answer: RestReply, names: Texts, texts: Texts = {}): void {
  if (answer.status < 300) return;
  const problems = Object.entries({ ...problemsOf(answer), ...texts });
  if (answer.status >= 500 && problems.length === 0)
    throw new Error(`the node answered ${answer.status}: ${answer.body}`);
  if (problems.length === 0) throw invalid(answer.body.trim());
  throw invalid(problems.map(([field, text]) => `${names[field] ?? field}: ${text}`).join('; '));
}

/** The node's errors by field, without warnings. */
export const problemsOf = ({ body }: RestReply): Record<string, string> =>
  Object.fromEntries(Object.entries(refusedFields(body)).filter(([, text]) => !text.startsWith('Warning:')));

/** Whether the error is a refusal by the node, which would refuse a repeated request, too. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && !(error instanceof UnresponsiveNodeError);

/** The node cannot be reached or does not answer. The status is 422, which also stands for what is not possible now. */
export class UnresponsiveNodeError extends ApiError {
  constructor(reason: string) {
    super('ValidationError', `the cluster’s node does not answer: ${reason}`);
  }
}
