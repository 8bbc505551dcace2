// Renders errors: the only place that turns an AppError into an answer.
import type { AppError, ErrorBody } from '#contract/errors.ts';
import type { Reply } from '#contract/route.ts';
import { httpRefusals } from './http.refusals.ts';

/** For a path without a route. The answer depends on the method, because published clients expect that. */
export function noRoute(method: string): AppError {
  if (method === 'GET' || method === 'HEAD') return httpRefusals.noRoute();
  return method === 'POST' ? httpRefusals.noPostRoute() : httpRefusals.noMethod();
}

export function renderError(error: AppError, moreHeaders: Readonly<Record<string, string>> = {}): Reply {
  const { status, body } = error;
  const headers = { ...error.headers, ...moreHeaders };
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
