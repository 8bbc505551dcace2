import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { cursorOf, pageQuery, sortBy } from './paging.ts';

const url = new URL('http://cloud:8080/v2/projects?sortBy=name.desc');
const schema = z.strictObject({ ...pageQuery, sortBy: sortBy(['id', 'name']) });

test('leads to the pages around, keeping what else was asked for', () => {
  const { pages, hrefs } = cursorOf({ page: 2, perPage: 10 }, 35, url);
  assert.deepEqual(pages, { page: 2, perPage: 10, last: 4, totalItems: 35, previous: 1, next: 3 });
  assert.equal(hrefs.next, 'http://cloud:8080/v2/projects?sortBy=name.desc&page=3&perPage=10');
});

test('has one page for nothing, and leads back from behind the end', () => {
  assert.deepEqual(cursorOf({ page: 1, perPage: 10 }, 0, url).pages, {
    page: 1,
    perPage: 10,
    last: 1,
    totalItems: 0,
  });
  assert.equal(cursorOf({ page: 9, perPage: 10 }, 35, url).pages.previous, 4);
});

test('has a next page exactly until the last item is shown', () => {
  assert.equal(cursorOf({ page: 1, perPage: 10 }, 10, url).pages.next, undefined);
  assert.equal(cursorOf({ page: 1, perPage: 10 }, 11, url).pages.next, 2);
});

test('takes pages from 1 and at most 100 items, by default 10', () => {
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

test('sorts by keys of the list, in a direction that is written out', () => {
  assert.deepEqual(schema.parse({ sortBy: 'name.desc' }).sortBy, { key: 'name', direction: 'desc' });
  for (const wrong of ['name', 'name.down', 'secret.asc', '.asc', 'name.asc.desc']) {
    assert.match(schema.safeParse({ sortBy: wrong }).error?.message ?? '', /keys id, name/, wrong);
  }
});
