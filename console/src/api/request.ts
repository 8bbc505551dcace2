// Requests to the server that the console came from, and the errors that pages show.
import { jsonWithExactIntegers } from '../../../src/base/exact-json.ts';

/** A method and a path, whose parameters stand as `:name` or `{name}`. */
export type Call = `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`;

/** The server refused the request, or did not answer. */
export class ApiError extends Error {
  /** 0: the server did not answer. */
  readonly status: number;
  /** Problems by form field. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(status: number, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

export interface CallOptions {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly form?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Whole numbers of the answer that a double cannot hold exactly become raw JSON with their digits. */
  readonly exactIntegers?: boolean;
}

/** What differs between the servers that have a console. */
export interface Server {
  /** As messages call it: `node`. */
  readonly name: string;
  /** The headers of a request; `target` is its path with the query. */
  headers(method: string, target: string): Promise<Readonly<Record<string, string>>>;
  refusal(status: number, body: unknown): ApiError;
}

interface Received {
  /** The JSON of the answer, or its text. */
  readonly body: unknown;
  readonly headers: Headers;
}

const listeners = new Set<() => void>();

/** Calls `listener` whenever the server refuses the credentials of the session. */
export function onSignedOut(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export async function send(server: Server, route: Call, options: CallOptions): Promise<Received> {
  const response = await answerOf(server, route, options);
  const text = await response.text().catch(() => {
    throw new ApiError(0, `The connection to the ${server.name} ended before its answer was complete.`);
  });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const body: unknown = isJson && text !== '' ? parsed(text, options) : text;
  if (response.ok) return { body, headers: response.headers };
  if (response.status === 401) for (const listener of listeners) listener();
  throw server.refusal(response.status, body);
}

async function answerOf(server: Server, route: Call, options: CallOptions): Promise<Response> {
  const [method = 'GET', template = ''] = route.split(' ');
  const { form, json } = options;
  const target = addressOf(template, options);
  const serverHeaders = await server.headers(method, target);
  const body = form ? new URLSearchParams(defined(form)) : json === undefined ? null : JSON.stringify(json);
  try {
    return await fetch(target, {
      method,
      body,
      headers: {
        ...serverHeaders,
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      cache: 'no-store',
      ...(options.signal && { signal: options.signal }),
    });
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new ApiError(0, `The ${server.name} does not answer.`);
  }
}

function addressOf(template: string, { path = {}, query }: CallOptions): string {
  const filled = template.replace(/[:{](\w+)}?/g, (_, name: string) => segment(path[name] ?? ''));
  const search = query ? new URLSearchParams(defined(query)).toString() : '';
  return search === '' ? filled : `${filled}?${search}`;
}

/** Browsers resolve `.` and `..` in paths, also encoded ones. */
function segment(value: string): string {
  if (value === '.' || value === '..') throw new ApiError(0, `Browsers cannot address the name “${value}”.`);
  return encodeURIComponent(value);
}

const defined = (fields: NonNullable<CallOptions['query']>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  );

function parsed(text: string, { exactIntegers = false }: CallOptions): unknown {
  try {
    return exactIntegers ? jsonWithExactIntegers(text) : JSON.parse(text);
  } catch {
    return text;
  }
}
