// Answers onto the wire: the headers every one carries, and whole bodies in one piece with their length.
import type { FastifyReply } from 'fastify';
import type { Reply } from '#contract/route.ts';
import { streamBody } from './stream.ts';

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

export function sendReply(
  out: FastifyReply,
  answer: Reply,
  options: { signal: AbortSignal; headers: Readonly<Record<string, string>> },
): void {
  out.headers({ ...standardHeaders, ...options.headers });
  if (answer.kind !== 'stream') out.code(answer.status).headers(answer.headers ?? {});
  if (answer.kind === 'stream') sendStream(out, answer.source, options.signal);
  else if (answer.kind === 'empty') out.send();
  else if (answer.kind === 'text') sendWhole(out, 'text/plain', answer.text);
  else sendWhole(out, 'application/json', JSON.stringify(answer.value));
}

function sendWhole(out: FastifyReply, type: string, text: string): void {
  if (!out.hasHeader('content-type')) out.header('Content-Type', type);
  out.send(Buffer.from(text));
}

function sendStream(
  out: FastifyReply,
  source: (signal: AbortSignal) => AsyncIterable<unknown>,
  signal: AbortSignal,
): void {
  out.header('Content-Type', 'application/json; charset=utf-8');
  if (out.request.method === 'HEAD') out.send();
  else out.send(streamBody(source(signal), signal));
}
