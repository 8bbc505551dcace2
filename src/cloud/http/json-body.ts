// Bodies: JSON in UTF-8 and nothing else. Clients that name a content type on every request send none with a DELETE: an empty
// body is no body.
import type { FastifyInstance } from 'fastify';
import { invalid } from '../answers/api-error.ts';

/** Without a charset: a published client compares it whole. */
export const jsonType = 'application/json';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function takeJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(jsonType, { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    body.length === 0 ? undefined : parsed(body),
  );
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body));
  } catch (error) {
    if (error instanceof SyntaxError) throw invalid(`body: is not JSON: ${error.message}`);
    throw invalid('body: is not UTF-8');
  }
}
