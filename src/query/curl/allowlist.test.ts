import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAllowed } from './allowlist.ts';
import { urlOf } from './curl-options.ts';

const list = {
  all_access: false,
  allowed_urls: ['https://api.example/v1', 'http://other.example:8080', 'https://x.example/?a=1', 'nonsense'],
  disallowed_urls: [
    'https://api.example/v1/admin',
    'http://other.example:8080/secret',
    'http://other.example:8080/search?user=',
  ],
};

test('an address is allowed by protocol, host, port and the beginning of its path, as the HTTP client of CURL() resolves them', () => {
  for (const [address, isFine] of [
    ['https://api.example/v1', true],
    ['https://API.example:443/v1/users?id=1#x', true],
    ['https://api.example/v2/../v1/users', true],
    ['https://api.example/v1/../v2', false],
    ['https://api.example/v1/%2e%2e/v2', false],
    ['https://api.example/', false],
    ['http://api.example/v1', false],
    ['https://api.example:8443/v1', false],
    ['https://api.example.evil.example/v1', false],
    ['https://api.example\\@evil.example/v1', false],
    ['https://evil.example/https://api.example/v1', false],
    ['https://api.example/v1/admin/x', false],
    ['https://api.example/v1/./admin', false],
    ['http://other.example:8080', true],
    ['http://other.example:8080/x', true],
    ['http://other.example:8080//x', true],
    ['http://other.example:8080/secret', false],
    ['https://api.example/v1/%61dmin', false],
    ['https://api.example/v1/%2561dmin', false],
    ['https://api.example//v1//admin', false],
    ['https://api.example/v1//users', true],
    ['https://api.example/v1/b%C3%BCcher', true],
    ['https://api.example/v1/100%', true],
    ['https://api.example/v1%2Fadmin', false],
    ['https://api.example/v1/x%2fy', false],
    ['https://api.example/v1/x%5Cy', false],
    ['https://api.example/v1/x/%252e%252E/admin', false],
    ['https://api.example/v1/x/%25252e', false],
    [`https://api.example/v1/x/%${'25'.repeat(4_000)}61`, false],
    ['http://other.example:8080//secret', false],
    ['http://other.example:8080/search?q=a%2Fb', true],
    ['http://other.example:8080/search?user=root', false],
    ['http://other.example:8080/search?%75ser=root', false],
    ['https://x.example/%3Fa=1', false],
    ['http://other.example', false],
    ['https://x.example/?a=12', true],
    ['https://x.example/?b=1', false],
  ] as const)
    assert.equal(isAllowed(urlOf(address), list), isFine, address);
});

test('an empty list allows nothing, and all_access allows everything', () => {
  const url = urlOf('https://api.example/v1/admin');
  assert.equal(isAllowed(url, { all_access: false, allowed_urls: [], disallowed_urls: [] }), false);
  assert.equal(isAllowed(url, { ...list, all_access: true }), true);
});
