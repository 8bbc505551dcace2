// Reads request bodies by the kind that a route declares, up to a size limit.
import { generalRefusals } from '#contract/general.refusals.ts';
import type { BodyKind, RouteDefinition } from '#contract/route.ts';
import { httpRefusals } from './http.refusals.ts';
import { jsonBoundsProblem } from './json-bounds.ts';
import { parseForm } from './path.ts';

const formLimit = 1 << 20;
const jsonLimit = 10 << 20;
/** Ten times the number of fields of the largest form. */
const fieldsLimit = 2_000;

export interface BodySource {
  readonly destroyed: boolean;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'end' | 'close' | 'error', listener: () => void): unknown;
  removeAllListeners(event: 'data'): unknown;
  resume(): unknown;
}

export async function readBody(route: RouteDefinition, source: BodySource): Promise<unknown> {
  const kind = route.bodyKind ?? 'none';
  if (kind === 'none') return undefined;
  const bytes = await collect(source, route.bodyLimit ?? defaultLimit(kind));
  if (kind === 'raw') return bytes;
  if (kind === 'json') return parseJson(bytes);
  return kind === 'anyForm' || isForm(source) ? parseFields(bytes, route.repeatable) : parseForm('');
}

const defaultLimit = (kind: BodyKind) => (kind === 'json' ? jsonLimit : formLimit);

/** A body without the form content type has no fields. */
function isForm({ headers }: BodySource): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
}

const [ampersand, plus, blank] = ['&', '+', ' '].map((text) => text.charCodeAt(0)) as [
  number,
  number,
  number,
];

/** Counts fields and decodes plus signs on the bytes, before strings are made: a million of either would take long. */
function parseFields(sent: Buffer, repeatable?: readonly string[]): Record<string, string> {
  const bytes = Buffer.from(sent);
  let fields = 1;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === plus) bytes[at] = blank;
    else if (bytes[at] === ampersand) fields++;
  }
  if (fields > fieldsLimit) throw httpRefusals.tooManyFormFields({ limit: fieldsLimit });
  return parseForm(bytes.toString('utf8'), repeatable);
}

function parseJson(bytes: Buffer): unknown {
  const problem = jsonBoundsProblem(bytes);
  if (problem !== null) throw httpRefusals.jsonTooComplex({ problem });
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw generalRefusals.invalidJson();
  }
}

/** Refuses a body above the limit at once; the rest of it is read and dropped, so that the client sees the answer. */
function collect(source: BodySource, limit: number): Promise<Buffer> {
  if (Number(source.headers['content-length'] ?? 0) > limit) {
    source.resume();
    return Promise.reject(httpRefusals.bodyTooLarge({ limit }));
  }
  // The last event came during the access checks: there will be no other.
  if (source.destroyed) return Promise.reject(new ClientGone());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    source.on('data', (chunk) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      source.removeAllListeners('data');
      source.resume();
      reject(httpRefusals.bodyTooLarge({ limit }));
    });
    source.on('end', () => resolve(Buffer.concat(chunks)));
    const gone = () => reject(new ClientGone());
    source.on('error', gone);
    source.on('close', gone);
  });
}

/** The connection closed before the request was complete: no answer can be sent. */
export class ClientGone extends Error {
  override name = 'ClientGone';
}
