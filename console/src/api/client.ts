// Calls the REST API of the node. The cookie of the session identifies the caller.
import { ApiError, type CallOptions, type Server, send } from './request.ts';
import type { Call } from './routes.ts';

export { ApiError, type CallOptions } from './request.ts';

const node: Server = {
  name: 'node',
  headers: async () => ({
    'ns-server-ui': 'yes',
    // Without this header the browser would ask for credentials in a window of its own.
    'invalid-auth-response': 'on',
  }),
  refusal,
};

/** Resolves with the JSON of the answer, or with its text. */
export async function call<T>(route: Call, options: CallOptions = {}): Promise<T> {
  return (await send(node, route, options)).body as T;
}

function refusal(status: number, body: unknown): ApiError {
  if (status === 403) return new ApiError(403, 'You do not have permission for this.');
  const sent = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const fields = fieldsOf(sent['errors']) ?? fieldsOf(sent);
  if (typeof sent['msg'] === 'string')
    return new ApiError(status, serviceMessage(sent['msg'], sent['extras']));
  const queryErrors = messagesIn(sent['errors']);
  const texts = [queryErrors, sent['errors'], body, sent['reason'], sent['message'], sent['error']].flat();
  const text = texts.find((each) => typeof each === 'string' && each !== '');
  if (text === undefined && fields) return new ApiError(status, Object.values(fields).join(' '), fields);
  return new ApiError(status, text === undefined ? `The node answers with status ${status}.` : String(text));
}

/** The message of an error of the backup service: what is wrong, and why. */
const serviceMessage = (text: string, extras: unknown): string =>
  typeof extras === 'string' ? `${text}: ${extras}` : text;

/** The texts of errors of the query service, which are objects with a code. */
function messagesIn(errors: unknown): string {
  if (!Array.isArray(errors)) return '';
  const found = errors.filter((each): each is { msg: string; code: number } => typeof each?.msg === 'string');
  return found.map(({ msg, code }) => `${msg} (code ${code})`).join(' ');
}

/** Problems by field; null if `sent` is not an object of texts. */
function fieldsOf(sent: unknown): Record<string, string> | null {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return null;
  const texts = Object.entries(sent).filter(([, text]) => typeof text === 'string');
  return texts.length === 0 ? null : (Object.fromEntries(texts) as Record<string, string>);
}
