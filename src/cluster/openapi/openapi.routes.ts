// Serves the OpenAPI document. The first request generates it, which keeps the start fast.
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
  /** All routes of the REST port, these two included. */
  routes: () => readonly RouteDefinition[];
  version: string;
}

function openApiRoutes(api: DescribedApi): BoundRoute[] {
  let served: Promise<OpenApiDocument> | null = null;
  const document = () => {
    served ??= makeDocument(api);
    return served;
  };
  return [
    bind(GetOpenApi, async () => reply.json(await document())),
    bind(GetApiPage, async () => {
      const { contentPolicy, page } = await import('#contract/api-page.ts');
      return reply.text(page(await document()), 200, {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': contentPolicy,
      });
    }),
  ];
}

async function makeDocument({ routes, version }: DescribedApi): Promise<OpenApiDocument> {
  const [{ openApi }, { catalog }] = await Promise.all([
    import('./openapi.ts'),
    import('../settings/catalog.ts'),
  ]);
  return openApi({ routes: routes(), settings: catalog, version });
}
