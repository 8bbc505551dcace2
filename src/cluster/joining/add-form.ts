// The form of calls that add a node.
import type { Form } from '#contract/route.ts';
import { readServices } from '../provisioning/service-names.ts';
import { joiningRefusals } from '../refusals/joining.refusals.ts';

export interface AddRequest {
  /** As the caller wrote it. */
  readonly hostname: string;
  /** Empty: the node is not provisioned. */
  readonly user: string;
  readonly password: string;
  readonly services: readonly string[];
  /** The uuid of the node's server group; absent: the first group. */
  readonly group?: string;
}

const fields = ['hostname', 'user', 'password', 'services'];

/** @throws AppError with all problems. */
export function readAddForm(form: Form): AddRequest {
  const unknown = Object.keys(form).filter((name) => !fields.includes(name));
  if (unknown.length > 0) throw joiningRefusals.unknownParameters({ names: JSON.stringify(unknown) });
  const problems = ['hostname', 'user', 'password']
    .filter((name) => form[name] === undefined)
    .map((name) => (name === 'hostname' ? 'Hostname is required.' : `${name} is missing`));
  const { services, problem } = readServices(form['services'] ?? 'kv');
  if (problem !== null) problems.push(problem);
  if (problems.length > 0) throw joiningRefusals.invalid(problems);
  const { hostname = '', user = '', password = '' } = form;
  if (hostname.trim() === '') throw joiningRefusals.invalid(['Hostname is required.']);
  if (user === '' && password !== '') throw joiningRefusals.passwordWithoutUser();
  if (user !== '' && password === '') throw joiningRefusals.userWithoutPassword();
  return { hostname, user, password, services };
}
