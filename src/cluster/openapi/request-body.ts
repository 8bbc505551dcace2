// The body of a request: fields that the route declares, or else those that the settings page knows of it.
import type { Field, Form } from '#contract/fields.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { BodyKind, RouteDefinition } from '#contract/route.ts';
import type { SettingGroup } from '../settings/setting.ts';
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
  return { content: { [type]: { schema: bodySchema(route, groups) } } };
}

function bodySchema(route: RouteDefinition, groups: readonly SettingGroup[]): JsonSchema {
  if (route.bodyKind === 'json') return {};
  if (route.bodyKind === 'raw') return { type: 'string', format: 'binary' };
  return route.body && 'fields' in route.body
    ? declared((route.body as Form<unknown>).fields)
    : known(route, groups);
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

function known({ id }: RouteDefinition, groups: readonly SettingGroup[]): JsonSchema {
  const settings = groups.filter(({ routes }) => routes.includes(id)).flatMap((group) => group.settings);
  const properties = Object.fromEntries(settings.map((one) => [one.name, settingSchema(one)]));
  return { type: 'object', properties };
}
