// Routes of the query service's settings.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';

const reading: Access = { kind: 'permission', permission: 'cluster.settings!read' };
const writing: Access = { kind: 'permission', permission: 'cluster.settings!write' };
const base = '/settings/querySettings';

const allowlist = shape.object({
  all_access: shape.boolean,
  allowed_urls: shape.array(shape.string),
  disallowed_urls: shape.array(shape.string),
});
const settings = shape.record(shape.either(shape.number, shape.boolean, shape.string, allowlist));

export const GetQuerySettings = defineRoute({
  id: 'query_settings.read',
  method: 'GET',
  path: base,
  access: reading,
  answer: { json: settings },
  doc: 'Settings of the query service.',
});

export const SetQuerySettings = defineRoute({
  id: 'query_settings.change',
  method: 'POST',
  path: base,
  access: writing,
  bodyKind: 'form',
  answer: { json: settings },
  doc: 'Sets settings of the query service, at once; omitted ones stay unchanged.',
});

export const GetCurlAllowlist = defineRoute({
  id: 'query_settings.curl_read',
  method: 'GET',
  path: `${base}/curlWhitelist`,
  access: reading,
  answer: { json: allowlist },
  doc: 'Addresses that CURL() may read.',
});

export const SetCurlAllowlist = defineRoute({
  id: 'query_settings.curl_change',
  method: 'POST',
  path: `${base}/curlWhitelist`,
  access: writing,
  bodyKind: 'json',
  answer: { json: allowlist },
  doc: 'Sets the addresses that CURL() may read: all, or those that begin with an allowed one and with no refused one.',
});
