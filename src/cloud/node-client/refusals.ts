// What a node refuses becomes a refusal of the cloud, in the words of the cloud's own fields.
import type { RestReply } from '#client/rest.adapter.ts';
import { type Goof, invalid } from '../http/goof.ts';

/** Throws unless the node accepted. `names` are the cloud's names of the node's fields. */
export function accepted(answer: RestReply, names: Readonly<Record<string, string>>): RestReply {
  if (answer.status < 300) return answer;
  if (answer.status >= 500) throw new Error(`the node answered ${answer.status}: ${answer.body}`);
  throw refusal(answer, names);
}

/** The node is not there, or says nothing. */
export const silence = ({ message }: Error): Goof =>
  invalid(
    `the cluster’s node does not answer (${message}): one that has died is started again; try again in a few seconds`,
  );

function refusal(answer: RestReply, names: Readonly<Record<string, string>>): Goof {
  // Nodes tell beside what is wrong what they would only warn of.
  const problems = Object.entries(errorsOf(answer.body)).filter(([, text]) => !text.startsWith('Warning:'));
  if (problems.length === 0) return invalid(answer.body.trim());
  return invalid(problems.map(([field, text]) => `${names[field] ?? field}: ${text}`).join('; '));
}

function errorsOf(body: string): Record<string, string> {
  try {
    const { errors } = JSON.parse(body) as { errors?: Record<string, string> };
    return errors ?? {};
  } catch {
    return {};
  }
}
