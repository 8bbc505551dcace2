// The body of a request: the fields that the route declares, otherwise those of the catalog of settings.
import type { Field, Form } from '#contract/fields.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { BodyKind, RouteDefinition } from '#contract/route.ts';
import type { SettingGroup } from '../settings/setting.ts';
import { type BodyNotes, bodyNotes } from './bodies.ts';
import { settingSchema } from './setting-schema.ts';

const mediaTypes: Partial<Record<BodyKind, string>> = {
  form: 'application/x-www-form-urlencoded',
  json: 'application/json',
  raw: 'application/octet-stream',
};

export function requestBody(route: RouteDefinition, groups: readonly SettingGroup[]) {
  const { bodyKind = 'none' } = route;
  if (bodyKind === 'none') return null;
  const type = mediaTypes[bodyKind] ?? 'application/x-www-form-urlencoded';
  const { example, ...notes } = bodyNotes[route.id] ?? {};
  const schema = withNotes(bodySchema(route, groups), notes);
  const required = (schema.required?.length ?? 0) > 0;
  return { ...(required && { required }), content: { [type]: { schema, ...(example && { example }) } } };
}

function withNotes(schema: JsonSchema, { required = [], properties = {} }: BodyNotes): JsonSchema {
  const all = { ...properties, ...schema.properties };
  const names = [...(schema.required ?? []), ...required];
  return {
    ...schema,
    ...(Object.keys(all).length > 0 && { properties: all }),
    ...(names.length > 0 && { required: [...new Set(names)] }),
  };
}

function bodySchema(route: RouteDefinition, groups: readonly SettingGroup[]): JsonSchema {
  if (route.bodyKind === 'json') return {};
  if (route.bodyKind === 'raw') return { type: 'string', format: 'binary' };
  return route.body && 'fields' in route.body
    ? declared((route.body as Form<unknown>).fields)
    : schemaOfSettings(route, groups);
}

function declared(fields: Readonly<Record<string, Field<unknown>>>): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...(required.length > 0 && { required }),
  };
}

function schemaOfSettings({ id }: RouteDefinition, groups: readonly SettingGroup[]): JsonSchema {
  const settings = groups.filter(({ routes }) => routes.includes(id)).flatMap((group) => group.settings);
  const properties = Object.fromEntries(settings.map((setting) => [setting.name, settingSchema(setting)]));
  return { type: 'object', properties };
}
