// What a node refuses becomes a refusal of the cloud, in the words of the cloud's own fields.
import { type RestReply, refusedFields } from '#client/rest.adapter.ts';
import { ApiError, invalid } from '../answers/api-error.ts';

type Texts = Readonly<Record<string, string>>;

/** Throws unless the node accepted. `names` are the cloud's names of the node's fields; `texts` say more of some than the node. */
export function accepted(answer: RestReply, names: Texts, texts: Texts = {}): void {
  if (answer.status < 300) return;
  const problems = Object.entries({ ...problemsOf(answer), ...texts });
  if (answer.status >= 500 && problems.length === 0)
    throw new Error(`the node answered ${answer.status}: ${answer.body}`);
  if (problems.length === 0) throw invalid(answer.body.trim());
  throw invalid(problems.map(([field, text]) => `${names[field] ?? field}: ${text}`).join('; '));
}

/** What the node says of each of its fields, without what it would only warn of. */
export const problemsOf = ({ body }: RestReply): Record<string, string> =>
  Object.fromEntries(Object.entries(refusedFields(body)).filter(([, text]) => !text.startsWith('Warning:')));

/** The node is not there, or says nothing. */
export class SilentNode extends ApiError {
  constructor(reason: string) {
    super('ValidationError', `the cluster’s node does not answer: ${reason}`);
  }
}
