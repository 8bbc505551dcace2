// Calls the REST API of the cloud. No cookie carries the credentials, so that no other site can use them.
import { ApiError, type Call, type Server, send } from '../../api/request.ts';
import { type Credentials, headersFor } from './credentials.ts';
import type { AnswerOf, Declared, OptionsOf, Route } from './routes.ts';

let credentials: Credentials = '';

/** The credentials of the requests that follow. */
export function setCredentials(value: Credentials): void {
  credentials = value;
}

const cloud: Server = {
  name: 'cloud',
  headers: (method, target) => headersFor(credentials, method, target),
  refusal(status, body) {
    const sent = (typeof body === 'object' && body !== null ? body : {}) as { message?: unknown };
    if (typeof sent.message !== 'string')
      return new ApiError(status, `The cloud answers with status ${status}.`);
    return new ApiError(status, sent.message, fieldsIn(sent.message));
  },
};

/** Resolves with the body of the answer. */
export async function call<O extends Declared>(route: Route<O>, options: OptionsOf<O>): Promise<AnswerOf<O>> {
  return (await sendTo(route.call, options)).body as AnswerOf<O>;
}

/** Resolves with the ids of the cluster and of the operation that carries the change out; null if there is nothing to wait for. */
export async function change<O extends Declared>(
  route: Route<O>,
  options: OptionsOf<O>,
): Promise<{ readonly operation: string | null; readonly cluster: string }> {
  const { headers } = await sendTo(route.call, options);
  return {
    operation: headers.get('divan-operation')?.split('/').at(-1) ?? null,
    cluster: headers.get('location')?.split('/').at(-1) ?? '',
  };
}

function sendTo(route: Call, options: object) {
  const { body, ...rest } = options as { body?: unknown };
  return send(cloud, route, { ...rest, json: body });
}

/** The cloud names the field of each problem: `name: must have 1 to 128 characters; servers.0.size: must be …`. */
export function fieldsIn(message: string): Record<string, string> {
  const parts = message.split(/; (?=[\w.-]+: )/).map((part) => /^([\w.-]+): (.+)$/s.exec(part));
  return Object.fromEntries(parts.flatMap((part) => (part ? [[part[1], part[2]]] : [])));
}
