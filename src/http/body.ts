// Reading of request bodies by the kind a route declares, with a limit.
import { refuse } from '#contract/errors.ts';
import { fieldText } from '#contract/field-text.ts';
import type { BodyKind, RouteDefinition } from '#contract/route.ts';
import { tooLarge } from './errors.ts';
import { parseForm } from './path.ts';

const formLimit = 1 << 20;
const jsonLimit = 10 << 20;

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
  if (kind === 'anyForm') return parseForm(bytes.toString('utf8'));
  return kind === 'json' ? parseJson(bytes) : parseFormBody(source, bytes, route.repeatable);
}

const defaultLimit = (kind: BodyKind) => (kind === 'json' ? jsonLimit : formLimit);

/** Fields of a body that says it is a form; any other body has none. */
function parseFormBody(
  source: BodySource,
  bytes: Buffer,
  repeatable?: readonly string[],
): Record<string, string> {
  const type = source.headers['content-type'];
  const isForm = typeof type === 'string' && /^application\/x-www-form-urlencoded\s*(;|$)/i.test(type);
  return parseForm(isForm ? bytes.toString('utf8') : '', repeatable);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refuse.fields({ _: fieldText.invalidJson });
  }
}

/** Refuses a body above the limit at once; what still comes of it is read and dropped, so that the client sees the answer. */
function collect(source: BodySource, limit: number): Promise<Buffer> {
  if (Number(source.headers['content-length'] ?? 0) > limit) {
    source.resume();
    return Promise.reject(tooLarge(limit));
  }
  // Its last event was while access was judged: there will be no other.
  if (source.destroyed) return Promise.reject(new ClientGone());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    source.on('data', (chunk) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      source.removeAllListeners('data');
      source.resume();
      reject(tooLarge(limit));
    });
    source.on('end', () => resolve(Buffer.concat(chunks)));
    const gone = () => reject(new ClientGone());
    source.on('error', gone);
    source.on('close', gone);
  });
}

/** The connection closed before the request was complete: nobody is there to be answered. */
export class ClientGone extends Error {
  override name = 'ClientGone';
}
