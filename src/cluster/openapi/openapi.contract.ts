// Routes of the OpenAPI document.
import { shape } from '#contract/json-schema.ts';
import { defineRoute } from '#contract/route.ts';

export const GetOpenApi = defineRoute({
  id: 'openapi.document',
  method: 'GET',
  path: '/openapi.json',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  answer: { json: shape.record(shape.any) },
  doc: 'This API as an OpenAPI 3.1 document.',
});

export const GetApiPage = defineRoute({
  id: 'openapi.page',
  method: 'GET',
  path: '/docs/api',
  access: { kind: 'anyone' },
  openBeforeProvisioning: true,
  answer: { text: 'text/html' },
  doc: 'This API as an HTML page.',
});
