// Request bodies: JSON in UTF-8 only. An empty body counts as none, since some clients name a content type also without a body.
import type { FastifyInstance } from 'fastify';
import { jsonBoundsProblem, jsonValues } from '#base/json-bounds.ts';
import { invalid } from '../answers/api-error.ts';

/** Has no charset, since a published client compares the whole header. */
export const jsonType = 'application/json';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    body.length === 0 ? undefined : parsed(body),
  );
}

/** More values would take seconds to validate. Rules of the fields refuse deep values. */
const bounds = { levels: Number.POSITIVE_INFINITY, values: jsonValues };

function parsed(body: Buffer): unknown {
  const problem = jsonBoundsProblem(body, bounds);
  if (problem !== null) throw invalid(`body: ${problem}`);
  try {
    return JSON.parse(utf8.decode(body));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`body: is not JSON: ${error.message}`);
    throw invalid('body: is not UTF-8');
  }
}
