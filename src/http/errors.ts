// Renders errors: the only place that turns an AppError into an answer.
import type { UnwritableError } from '#base/unwritable-error.ts';
import { AppError, type ErrorBody } from '#contract/errors.ts';
import { type Reply, reply } from '#contract/route.ts';

/** The 404 texts; published clients and tools tell them apart by method. */
export function noRoute(method: string): Reply {
  if (method === 'GET' || method === 'HEAD') return reply.text('Not found.', 404);
  if (method === 'POST') return reply.text('Requested resource not found.\r\n', 404);
  return reply.text('Method Not Allowed', 405);
}

export const malformedPath = (): Reply =>
  reply.text('The path is not valid: broken percent-encoding or not UTF-8.', 404);

export const unauthenticated = (challenge: boolean): Reply =>
  reply.empty(401, challenge ? { 'WWW-Authenticate': 'Basic realm="Divan"' } : undefined);

export const unexpected = (): Reply =>
  reply.json(['Unexpected server error, request logged.'], 500, { Connection: 'close' });

/** Nothing was changed, and the answer gives the reason. */
export const unwritable = ({ message }: UnwritableError): Reply => reply.json([message], 500);

export const tooLarge = (limit: number): AppError =>
  new AppError(413, { kind: 'text', text: `The request body is larger than ${limit} bytes.` });

export function renderError(error: AppError): Reply {
  const { status, body } = error;
  const headers = { ...error.headers };
  if (body.kind === 'empty') return { kind: 'empty', status, headers };
  if (body.kind === 'text') return { kind: 'text', status, text: body.text, headers };
  return { kind: 'json', status, value: jsonOf(body), headers };
}

function jsonOf(body: Exclude<ErrorBody, { kind: 'empty' | 'text' }>): unknown {
  switch (body.kind) {
    case 'fields':
      return { errors: body.fields };
    case 'bucketFields':
      return { ...body.fields, errors: body.fields, summaries: body.summaries };
    case 'bare':
      return body.fields;
    case 'list':
      return body.texts;
    case 'errorList':
      return { errors: body.texts };
    case 'json':
      return body.value;
  }
}
