import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crossSiteRefusal } from './cross-site.ts';

const ownHost = 'node.example.com:8091';
const problem = (headers: Parameters<typeof crossSiteRefusal>[0], isProvisioned = true) =>
  crossSiteRefusal({ host: ownHost, ...headers }, { isProvisioned })?.message ?? null;

test('clients other than browsers, and pages of the node, may make changes', () => {
  assert.equal(problem({}), null);
  assert.equal(problem({ origin: `http://${ownHost}` }), null);
  assert.equal(problem({ origin: 'https://node.example.com', host: 'node.example.com' }), null);
  assert.equal(problem({ origin: 'https://node.example.com', host: 'NODE.example.com:443' }), null);
  assert.equal(problem({ 'sec-fetch-site': 'none' }), null);
  assert.equal(
    problem({ origin: 'https://admin.example.com', 'sec-fetch-site': 'same-origin' }),
    null,
    'refused a page of the node behind a proxy',
  );
});

test('pages of other sites may not make changes', () => {
  const others: Parameters<typeof crossSiteRefusal>[0][] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: '' },
    { origin: 'http://node.example.com:3000' },
    { origin: `http://${ownHost}`, host: undefined },
    { origin: `http://${ownHost}`, host: 'a b' },
    { origin: `http://${ownHost}`, 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site' },
  ];
  for (const headers of others) assert.match(problem(headers) ?? '', /another site/, JSON.stringify(headers));
});

test('before the node is set up, no page under a public DNS name may make changes (DNS rebinding)', () => {
  const fromSameHost = (host: string, isProvisioned: boolean) =>
    problem({ host, origin: `http://${host}` }, isProvisioned);
  for (const host of [
    '127.0.0.1:8091',
    '[::1]:8091',
    'localhost:8091',
    'db.localhost',
    'divan:8091',
    '10.0.0.7',
  ])
    assert.equal(fromSameHost(host, false), null, host);
  for (const host of ['evil.example:8091', 'localhost.evil.example', '127.0.0.1.evil.example:8091']) {
    assert.match(fromSameHost(host, false) ?? '', /^Before the node is set up/, host);
    assert.equal(fromSameHost(host, true), null, host);
  }
  assert.equal(problem({}, false), null, 'refused a client that is no browser');
});
