// Sends answers: sets the standard headers, and writes a complete body with its length in one piece.
import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Reply } from '#contract/route.ts';
import type { RequestEnd } from './request-end.ts';

const standardHeaders = {
  Server: 'Divan',
  'Cache-Control': 'no-cache,no-store,must-revalidate',
  Expires: 'Thu, 01 Jan 1970 00:00:00 GMT',
  Pragma: 'no-cache',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'X-Permitted-Cross-Domain-Policies': 'none',
  'X-XSS-Protection': '1; mode=block',
};

export interface SendOptions {
  readonly end: Pick<RequestEnd, 'signal'>;
  readonly headers: Readonly<Record<string, string>>;
  /** Called with the size of each part of the body. */
  readonly sent: (bytes: number) => void;
}

export function sendReply(out: ServerResponse, answer: Reply, options: SendOptions): void {
  setHeaders(out, { ...standardHeaders, ...options.headers });
  if (answer.kind === 'stream') {
    sendStream(out, 'texts' in answer ? answer.texts : encoded(answer.source), options);
    return;
  }
  if (answer.kind === 'bytes') {
    sendBytes(out, answer, options);
    return;
  }
  const { type, body } = wholeBody(answer);
  out.statusCode = answer.status;
  if (type !== null) out.setHeader('Content-Type', type);
  setHeaders(out, answer.headers ?? {});
  const bytes = Buffer.byteLength(body);
  if (answer.status !== 204) out.setHeader('Content-Length', bytes);
  if (out.req.method !== 'HEAD') options.sent(bytes);
  // Node sends a text in one piece with the headers, and bytes as a second piece. For UTF-8 it reserves three bytes a character, and new memory
  // from 16 KiB on. ASCII text has the same bytes in Latin-1, for which Node reserves one byte a character.
  out.end(body, bytes === body.length ? 'latin1' : 'utf8');
}

function setHeaders(out: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) out.setHeader(name, value);
}

function wholeBody(answer: Exclude<Reply, { kind: 'stream' | 'bytes' }>): {
  type: string | null;
  body: string;
} {
  switch (answer.kind) {
    case 'empty':
      return { type: null, body: '' };
    case 'text':
      return { type: 'text/plain', body: answer.text };
    case 'json':
      return { type: 'application/json', body: JSON.stringify(answer.value) };
  }
}

/** Sends as fast as the client reads; a failing source truncates the answer. */
function sendBytes(
  out: ServerResponse,
  { status, headers, source }: Extract<Reply, { kind: 'bytes' }>,
  { sent }: SendOptions,
): void {
  out.statusCode = status;
  setHeaders(out, headers);
  // The source is not begun; that of another server ends with the signal of the request.
  if (out.req.method === 'HEAD') return void out.end();
  pipeline(Readable.from(countingBytes(source, sent), { objectMode: false }), out, () => out.destroy());
}

function sendStream(
  out: ServerResponse,
  texts: (signal: AbortSignal) => AsyncIterable<string>,
  { end: { signal }, sent }: SendOptions,
): void {
  out.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (out.req.method === 'HEAD') return void out.end();
  // A failing source can only truncate the answer: its beginning has been sent.
  pipeline(streamBody(countingBytes(lines(texts(signal), signal), sent)), out, () => out.destroy());
}

const bufferBytes = 64 << 10;

/** Takes parts from the source only as fast as the client reads them, so that a slow reader costs one buffer and not a growing one. */
function streamBody(parts: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(parts, { objectMode: false, highWaterMark: bufferBytes });
}

const encoded = (source: (signal: AbortSignal) => AsyncIterable<unknown>) =>
  async function* (signal: AbortSignal): AsyncGenerator<string> {
    for await (const value of source(signal)) yield JSON.stringify(value);
  };

/** Each text with four newlines after it. */
async function* lines(texts: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const text of texts) {
      if (signal.aborted) return;
      yield Buffer.from(`${text}\n\n\n\n`);
    }
  } catch (error) {
    // A source may reject with the signal's reason; any other rejection is a failure.
    if (!signal.aborted) throw error;
  }
}

async function* countingBytes(
  source: AsyncIterable<Uint8Array>,
  sent: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    sent(chunk.byteLength);
    yield chunk;
  }
}
