// Serves the OpenAPI document. The first request generates it, which keeps the start fast.
import { loadedOnce } from '#base/loaded-once.ts';
import { type BoundRoute, bind, type RouteDefinition, reply } from '#contract/route.ts';
import { GetApiPage, GetOpenApi } from './openapi.contract.ts';
import type { OpenApiDocument } from './openapi.ts';

/** Adds the routes of the document that describes all routes. */
export function withDescription(described: readonly BoundRoute[], version: string): BoundRoute[] {
  const all: BoundRoute[] = [
    ...described,
    ...openApiRoutes({ routes: () => all.map(({ route }) => route), version }),
  ];
  return all;
}

interface DescribedApi {
  /** All routes of the REST port, those of the document and of its page included. */
  routes: () => readonly RouteDefinition[];
  version: string;
}

function openApiRoutes(api: DescribedApi): BoundRoute[] {
  const texts = loadedOnce(async () => {
    const [document, { ApiTexts }] = await Promise.all([makeDocument(api), import('#contract/api-texts.ts')]);
    return new ApiTexts(document);
  });
  return [
    bind(GetOpenApi, async () => reply.jsonText((await texts()).json)),
    bind(GetApiPage, async () => {
      const { contentPolicy, page } = await texts();
      return reply.text(page, 200, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': contentPolicy,
      });
    }),
  ];
}

async function makeDocument({ routes, version }: DescribedApi): Promise<OpenApiDocument> {
  const [{ openApi }, { settingsCatalog }] = await Promise.all([
    import('./openapi.ts'),
    import('../settings/catalog.ts'),
  ]);
  return openApi({ routes: routes(), settings: settingsCatalog, version });
}
