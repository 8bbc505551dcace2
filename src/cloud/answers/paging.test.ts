import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { cursorOf, pageQuery, sortBy } from './paging.ts';

const url = new URL('http://cloud:8080/v2/projects?sortBy=name.desc');
const schema = z.strictObject({ ...pageQuery, sortBy: sortBy(['id', 'name']) });

test('links to the neighbouring pages, with the other query parameters', () => {
  const { pages, hrefs } = cursorOf({ page: 2, perPage: 10 }, 35, url);
  assert.deepEqual(pages, { page: 2, perPage: 10, last: 4, totalItems: 35, previous: 1, next: 3 });
  assert.equal(hrefs.next, 'http://cloud:8080/v2/projects?sortBy=name.desc&page=3&perPage=10');
});

test('an empty list has one page, and a page beyond the end has a link to the last page', () => {
  assert.deepEqual(cursorOf({ page: 1, perPage: 10 }, 0, url).pages, {
    page: 1,
    perPage: 10,
    last: 1,
    totalItems: 0,
  });
  assert.equal(cursorOf({ page: 9, perPage: 10 }, 35, url).pages.previous, 4);
});

test('every page except the one with the last item has a link to the next page', () => {
  assert.equal(cursorOf({ page: 1, perPage: 10 }, 10, url).pages.next, undefined);
  assert.equal(cursorOf({ page: 1, perPage: 10 }, 11, url).pages.next, 2);
});

test('a request may ask for pages from 1 on, and for at most 100 items a page, by default 10', () => {
  assert.deepEqual(schema.parse({}), { page: 1, perPage: 10 });
  assert.equal(schema.parse({ perPage: '100' }).perPage, 100);
  for (const wrong of [
    { page: '0' },
    { page: '1.5' },
    { page: '' },
    { perPage: '101' },
    { perPage: '-1' },
    { size: '1' },
  ]) {
    assert.equal(schema.safeParse(wrong).success, false, JSON.stringify(wrong));
  }
});

test('a list is sorted by one of its keys and a direction that must be given', () => {
  assert.deepEqual(schema.parse({ sortBy: 'name.desc' }).sortBy, { key: 'name', direction: 'desc' });
  for (const wrong of ['name', 'name.down', 'secret.asc', '.asc', 'name.asc.desc']) {
    assert.match(schema.safeParse({ sortBy: wrong }).error?.message ?? '', /keys id, name/, wrong);
  }
});
