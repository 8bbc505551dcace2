// The OpenAPI 3.1 document of the administration API, made from the declarations of its routes and of the settings.

import type { ApiDocument, ApiOperation, ApiResponse } from '#contract/api-document.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { Access, RouteDefinition } from '#contract/route.ts';
import type { SettingGroup } from '../settings/setting.ts';
import { parameterOf } from './parameters.ts';
import { requestBody } from './request-body.ts';
import { Schemas } from './schemas.ts';

export interface OpenApiDocument extends ApiDocument {
  servers: { url: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: Record<string, unknown>; schemas: Record<string, JsonSchema> };
}

export interface Operation extends ApiOperation {
  description: string;
  security: Record<string, string[]>[];
}

const about =
  'Sets up, changes and monitors a node and its cluster. Forms are application/x-www-form-urlencoded. ' +
  'This document does not describe the API of the view port.';

export interface DocumentSource {
  routes: readonly RouteDefinition[];
  settings: readonly SettingGroup[];
  version: string;
}

export function openApi({ routes, settings, version }: DocumentSource): OpenApiDocument {
  const schemas = new Schemas();
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)\*?/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, settings, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Divan node administration',
      version,
      description: about,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The REST ports of a node, plain and TLS' }],
    tags: [...new Set(routes.map(tagOf))].sort().map((name) => ({ name, description: tagText(name) })),
    paths,
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: schemas.named,
    },
  };
}

const tagText = (name: string): string => {
  const words = name.replaceAll('_', ' ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
};

export const tagOf = ({ id }: RouteDefinition): string => id.split('.')[0] as string;

function operation(route: RouteDefinition, settings: readonly SettingGroup[], schemas: Schemas): Operation {
  const body = requestBody(route, settings);
  const parameters = [...pathParameters(route), ...queryParameters(route)];
  return {
    operationId: route.id,
    tags: [tagOf(route)],
    summary: route.doc,
    description: accessText(route),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: body }),
    responses: responses(route, schemas),
    security: route.access.kind === 'anyone' ? [] : [{ basic: [] }],
  };
}

const pathParameters = ({ path }: RouteDefinition) =>
  [...path.matchAll(/:(\w+)/g)].map(([, name]) => parameterOf(name as string));

function queryParameters({ query, acceptsJustValidate }: RouteDefinition) {
  const declared =
    query && 'fields' in query ? Object.entries((query as { fields: QueryFields }).fields) : [];
  const parameters = declared.map(([name, { schema, isRequired }]) => ({
    name,
    in: 'query',
    required: isRequired,
    schema,
  }));
  const validated = { name: 'just_validate', in: 'query', required: false, schema: { enum: ['1'] } };
  const description = 'Validates the request and changes nothing.';
  return acceptsJustValidate ? [...parameters, { ...validated, description }] : parameters;
}

type QueryFields = Record<string, { schema: JsonSchema; isRequired: boolean }>;

/** The access rule as a sentence, also for the reference page. */
export function accessText({ access, openBeforeProvisioning = false }: RouteDefinition): string {
  const open = openBeforeProvisioning ? ' Open to all until the node is provisioned.' : '';
  return `${rightsText(access)}${open}`;
}

function rightsText(access: Access): string {
  switch (access.kind) {
    case 'anyone':
      return 'Needs no credentials.';
    case 'authenticated':
      return 'Needs valid credentials, and no permission.';
    case 'permission':
      return `Needs the permission \`${access.permission}\`.`;
    case 'roles':
      return `Needs one of the roles ${access.roles.map((role) => `\`${role}\``).join(', ')}.`;
  }
}

function responses(route: RouteDefinition, schemas: Schemas): Operation['responses'] {
  const { access, path, answer, bodyKind, otherStatuses = {} } = route;
  const isRefused = (answer?.status ?? 200) >= 400;
  const description = isRefused ? 'Always refused.' : 'Done.';
  const success = { [answer?.status ?? 200]: { description, ...contentOf(route, schemas) } };
  const needsPermission = access.kind === 'permission' || access.kind === 'roles';
  return {
    ...success,
    ...(route.acceptsJustValidate === 'by handler' && {
      '200': { ...validated, ...success['200'] },
      '202': { ...validated, ...success['202'] },
    }),
    ...(mayRefuse(route) && {
      '400': { description: 'Refused: the body names what is wrong. Nothing was changed.' },
    }),
    '401': { description: 'No credentials, or wrong ones.' },
    ...(needsPermission && { '403': forbidden }),
    ...(path.includes('/:') && { '404': { description: 'Not found.' } }),
    ...(bodyKind && { '413': { description: 'The body is too large.' } }),
    ...(route.method !== 'GET' && {
      ...(route.hasUserData && { '409': { description: 'The document has another version than `cas`.' } }),
      '501': { description: 'Needs a feature that this version does not have; the body names it.' },
    }),
    '503': { description: 'Temporarily refused; the body says why.' },
    ...Object.fromEntries(
      Object.entries(otherStatuses).map(([status, description]) => [status, { description }]),
    ),
  };
}

/** The answer of the route, or with `just_validate` the result of the validation. */
const orValidation = (schema: unknown) => ({
  anyOf: [
    schema,
    {
      type: 'object',
      properties: { errors: { type: 'object', additionalProperties: { type: 'string' } } },
      required: ['errors'],
      additionalProperties: false,
    },
  ],
});

/** The description of a status for a route that declares its own answer to `just_validate`. */
const validated: ApiResponse = {
  description: 'Done; with `just_validate` the result of the validation.',
};

/** Whether the route may answer 400. A change without input may, if it conflicts with the state. */
const mayRefuse = ({ method, path, query, bodyKind }: RouteDefinition): boolean =>
  method !== 'GET' || query !== undefined || bodyKind !== undefined || path.includes('/:');

function contentOf(
  { answer, acceptsJustValidate }: RouteDefinition,
  schemas: Schemas,
): Pick<ApiResponse, 'content'> {
  const content = {
    ...(answer?.json && {
      'application/json': {
        schema:
          acceptsJustValidate === true
            ? orValidation(schemas.hoist(answer.json))
            : schemas.hoist(answer.json),
      },
    }),
    // Tools that check answers parse YAML first, and an image is no text: neither is declared as a string.
    ...(answer?.text && {
      [answer.text]: {
        schema: answer.text === 'text/yaml' || answer.text === 'image/webp' ? {} : { type: 'string' },
      },
    }),
  };
  return Object.keys(content).length > 0 ? { content } : {};
}

const forbidden: ApiResponse = {
  description: 'The roles of the caller do not permit the request.',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          permissions: { type: 'array', items: { type: 'string' } },
        },
      },
    },
  },
};
