// Reads request bodies by the kind that a route declares, up to a size limit.

import { jsonBoundsProblem } from '#base/json-bounds.ts';
import { generalRefusals } from '#contract/general.refusals.ts';
import type { BodyKind, RouteDefinition } from '#contract/route.ts';
import { type BodySource, collectBody } from './collect-body.ts';
import { httpRefusals } from './http.refusals.ts';
import { parseForm } from './path.ts';

const formBytesMax = 1 << 20;
const jsonBytesMax = 10 << 20;
/** Ten times the number of fields of the largest form. */
const fieldsMax = 2_000;

interface SentBody extends BodySource {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** `received`: called with the size of each chunk. */
export async function readBody(
  route: RouteDefinition,
  source: SentBody,
  received: (bytes: number) => void = () => {},
): Promise<unknown> {
  if (!readsBody(route)) return undefined;
  const kind = route.bodyKind ?? 'none';
  const bytes = await collect(source, route.bodyBytesMax ?? defaultBytesMax(kind), received);
  if (kind === 'raw') return bytes;
  if (kind === 'json') return parseJson(bytes);
  return kind === 'anyForm' || isForm(source) ? parseFields(bytes, route.repeatable) : parseForm('');
}

export const readsBody = ({ bodyKind }: RouteDefinition): boolean => (bodyKind ?? 'none') !== 'none';

const defaultBytesMax = (kind: BodyKind) => (kind === 'json' ? jsonBytesMax : formBytesMax);

/** A body without the form content type has no fields. */
function isForm({ headers }: SentBody): boolean {
  const type = headers['content-type'];
  return typeof type === 'string' && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
}

const [ampersand, plus, blank] = ['&', '+', ' '].map((text) => text.charCodeAt(0)) as [
  number,
  number,
  number,
];

/** Counts fields and decodes plus signs on the bytes, before strings are made: a million of either would block the thread. */
function parseFields(sent: Buffer, repeatable?: readonly string[]): Record<string, string> {
  const bytes = Buffer.from(sent);
  let fields = 1;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === plus) bytes[at] = blank;
    else if (bytes[at] === ampersand) fields++;
  }
  if (fields > fieldsMax) throw httpRefusals.tooManyFormFields({ limit: fieldsMax });
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

/** Refuses a body above the limit as soon as its declared or received size exceeds it. */
async function collect(source: SentBody, limit: number, received: (bytes: number) => void): Promise<Buffer> {
  if (Number(source.headers['content-length'] ?? 0) > limit) {
    source.resume();
    throw httpRefusals.bodyTooLarge({ limit });
  }
  let size = 0;
  const body = await collectBody(source, (chunkBytes) => {
    size += chunkBytes;
    received(chunkBytes);
    return size > limit ? 'too large' : null;
  });
  if (body === 'too large') {
    source.on('data', (chunk) => received(chunk.length));
    throw httpRefusals.bodyTooLarge({ limit });
  }
  if (body === null) throw new ClientGoneError();
  return body;
}

/** The client closed the connection before its request was complete: the server cannot reply. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError';
}
