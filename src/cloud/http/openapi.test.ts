import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { projectOperations } from '../projects/projects.routes.ts';
import type { ProjectsService } from '../projects/projects.service.ts';
import { statusOperations } from '../status/status.routes.ts';
import { createApi } from './api.ts';

function anApi() {
  const projects = projectOperations({} as ProjectsService, 'tenant');
  const authenticate = () => Promise.reject(new Error('nobody'));
  // No request of these tests names an object.
  const find = () => Promise.resolve(undefined);
  return createApi({
    clock: realClock,
    operations: [...statusOperations, ...projects],
    authenticate,
    find,
    log: silentLog,
  });
}

test('the cloud describes its operations in a valid document, with the published names of schemas', async () => {
  const document = (await anApi().inject('/openapi.json')).json();
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  assert.ok(valid, JSON.stringify(errors));
  assert.deepEqual(Object.keys(document.paths), ['/v2/status', '/v2/projects', '/v2/projects/{id}']);
  assert.equal(document.info.version, '2.0.0');
  assert.deepEqual(document.paths['/v2/status'].get.security, []);
  const { post, get } = document.paths['/v2/projects'];
  assert.equal(
    post.requestBody.content['application/json'].schema.$ref,
    '#/components/schemas/CreateProjectRequest',
  );
  assert.deepEqual(Object.keys(post.responses), ['201', '401', '403', '413', '422', '429', '500']);
  assert.equal(get.parameters[0].schema.type, 'integer');
  const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  for (const [, name] of references) assert.ok(document.components.schemas[name as string], name);
});

test('the cloud shows its operations on a page that loads nothing from other servers', async () => {
  const page = await anApi().inject('/docs/api');
  assert.match(page.body, /projects\/create|\/v2\/projects/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
});

test('the cloud serves the manual to clients without a token', async () => {
  const api = anApi();
  const page = await api.inject('/docs/guides/cloud');
  assert.equal(page.statusCode, 200);
  assert.match(page.body, /<h1 id="/);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'/);
  assert.equal((await api.inject('/docs')).body, (await api.inject('/docs/')).body);
  assert.match((await api.inject('/docs/search?q=allowlist')).body, /<a href="\/docs\/guides\/cloud#/);
  assert.equal((await api.inject('/docs/guides/none')).statusCode, 404);
  assert.equal((await api.inject('/docs/search?q=a&q=b')).statusCode, 200);
});
