// Calls the REST API of the node that served the console. The cookie of the session identifies the caller.
import type { Call, PathParameters } from './routes.ts';

/** A refusal by the node, or none of its answers. */
export class ApiError extends Error {
  /** 0: the node did not answer. */
  readonly status: number;
  /** Problems by form field. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

export interface CallOptions<P extends string> {
  readonly path?: Readonly<Record<PathParameters<P>, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly form?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const listeners = new Set<() => void>();

/** Calls `listener` whenever the node refuses the session. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Resolves with the JSON of the answer, or with its text. */
export async function call<T>(route: Call, options: CallOptions<string> = {}): Promise<T> {
  const response = await send(route, options);
  const text = await response.text().catch(() => {
    throw new ApiError(0, 'The connection to the node ended before its answer was complete.');
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const body: unknown = isJson && text !== '' ? parsed(text) : text;
  if (response.ok) return body as T;
  if (response.status === 401) for (const listener of listeners) listener();
  throw refusal(response.status, body);
}

async function send(route: Call, options: CallOptions<string>): Promise<Response> {
  const [method = 'GET', template = ''] = route.split(' ');
  const { form, json } = options;
  const body = form ? new URLSearchParams(defined(form)) : json === undefined ? null : JSON.stringify(json);
  try {
    return await fetch(addressOf(template, options), {
      method,
      body,
      headers: {
        'ns-server-ui': 'yes',
        // Without it the browser would ask for credentials in a window of its own.
        'invalid-auth-response': 'on',
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      cache: 'no-store',
      ...(options.signal && { signal: options.signal }),
    });
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new ApiError(0, 'The node does not answer.');
  }
}

function addressOf(template: string, { path = {}, query }: CallOptions<string>): string {
  const values = path as Readonly<Record<string, string>>;
  const filled = template.replace(/:(\w+)/g, (_, name: string) => segment(values[name] ?? ''));
  const search = query ? new URLSearchParams(defined(query)).toString() : '';
  return search === '' ? filled : `${filled}?${search}`;
}

/** Browsers resolve `.` and `..` in paths, also encoded ones. */
function segment(value: string): string {
  if (value === '.' || value === '..') throw new ApiError(0, `Browsers cannot address the name “${value}”.`);
  return encodeURIComponent(value);
}

const defined = (fields: NonNullable<CallOptions<string>['query']>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal(status: number, body: unknown): ApiError {
  if (status === 403) return new ApiError(403, 'You do not have permission for this.');
  const sent = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const fields = fieldsOf(sent['errors']) ?? fieldsOf(sent);
  const coded = messagesIn(sent['errors']);
  const texts = [coded, sent['errors'], body, sent['reason'], sent['message'], sent['error']].flat();
  const text = texts.find((each) => typeof each === 'string' && each !== '');
  if (text === undefined && fields) return new ApiError(status, Object.values(fields).join(' '), fields);
  return new ApiError(status, text === undefined ? `The node answers with status ${status}.` : String(text));
}

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
