// The API description, from the operations: OpenAPI 3.1 with the published names of the schemas.
import { z } from 'zod';
import type { ApiDocument, ApiOperation, ApiResponse } from '#contract/api-document.ts';
import { apiErrorSchema } from '../answers/api-error.contract.ts';
import { type Operation, type ReplySpec, refusalsOf, rolesFor } from './operation.ts';

type Json = Record<string, unknown>;

const version = '2.0.0';

/** Errors that every operation may answer with. */
const refusals: Readonly<Record<number, string>> = {
  401: 'No valid credentials',
  403: 'The token’s role does not permit it',
  404: 'Not found',
  413: 'The body is too large; the connection is closed',
  422: 'Invalid, or not possible now',
  429: 'Too many requests with this token; Retry-After says how long to wait',
  500: 'Internal error',
};

export function describeApi(operations: readonly Operation[]): ApiDocument & Json {
  const schemas = componentsOf(operations);
  const paths: ApiDocument['paths'] = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    path[operation.method.toLowerCase()] = describe(operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Divan hosted management API',
      version,
      description: 'Clouds, projects, clusters and what is in them, over real clusters of Divan nodes.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    tags: tagsOf(operations),
    paths,
    components: { schemas, securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
  };
}

function describe(operation: Operation): ApiOperation {
  const { id, doc, access, body, replies } = operation;
  return {
    operationId: id,
    tags: [tagOf(operation)],
    summary: doc,
    ...(access === 'open' ? { security: [] } : { description: `Roles: ${rolesFor(operation).join(', ')}.` }),
    parameters: [...pathParameters(operation), ...queryParameters(operation)],
    ...(body !== undefined && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } },
    }),
    responses: { ...mapValues(replies, describeReply), ...describeRefusals(operation) },
  };
}

function pathParameters({ path }: Operation): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', ...(name === 'id' && { format: 'uuid' }) },
  }));
}

function queryParameters({ query }: Operation): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = schemaOf(query, 'input') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    ...(description !== undefined && { description }),
    schema,
  }));
}

function describeReply({ doc, body, headers }: ReplySpec): ApiResponse {
  return {
    description: doc,
    ...(body !== undefined && { content: { 'application/json': { schema: schemaOf(body, 'output') } } }),
    ...(headers !== undefined && {
      headers: mapValues(headers, (description) => ({ description, schema: { type: 'string' } })),
    }),
  };
}

function describeRefusals(operation: Operation): Record<string, ApiResponse> {
  const statuses = [...refusalsOf(operation), 500];
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/goof' } } };
  return Object.fromEntries(
    statuses.map((status) => [status, { description: refusals[status] as string, content }]),
  );
}

/** Named schemas are defined once under `components` and referenced. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  return withoutDefinitions(
    z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline', ...dialect }) as Json,
  );
}

const dialect = { target: 'draft-2020-12' } as const;

function withoutDefinitions(schema: Json): Json {
  const { $schema: _dialect, $defs: _definitions, id, ...rest } = schema as Json & { id?: string };
  if (typeof id === 'string') return { $ref: `#/components/schemas/${id}` };
  return withComponentReferences(rest) as Json;
}

/** References into definitions become references to components. */
function withComponentReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentReferences);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) =>
      key === '$ref' && typeof inner === 'string'
        ? [key, inner.replace('#/$defs/', '#/components/schemas/')]
        : [key, withComponentReferences(inner)],
    ),
  );
}

function componentsOf(operations: readonly Operation[]): Record<string, Json> {
  const components: Record<string, Json> = {};
  const collect = (schema: z.ZodType, io: 'input' | 'output'): void => {
    const described = z.toJSONSchema(schema, { io, unrepresentable: 'any', ...dialect }) as Json;
    const { $schema: _dialect, $defs = {}, ...whole } = described as Json & { $defs?: Record<string, Json> };
    for (const [name, definition] of Object.entries($defs)) components[name] ??= withoutId(definition);
    if (typeof whole['id'] === 'string') components[whole['id']] ??= withoutId(whole);
  };
  collect(apiErrorSchema, 'output');
  for (const { body, replies } of operations) {
    if (body !== undefined) collect(body, 'input');
    for (const { body: reply } of Object.values(replies)) if (reply !== undefined) collect(reply, 'output');
  }
  return Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function withoutId({ id: _id, ...schema }: Json): Json {
  return withComponentReferences(schema) as Json;
}

const tagOf = ({ path }: Operation): string => path.split('/')[2] as string;
const tagsOf = (operations: readonly Operation[]): { name: string }[] =>
  [...new Set(operations.map(tagOf))].map((name) => ({ name }));

const mapValues = <T, R>(record: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
