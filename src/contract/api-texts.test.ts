// The texts of the API document are made once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiDocument } from './api-document.ts';
import { ApiTexts } from './api-texts.ts';

test('the page and the JSON of the API document are made at the first request and kept', () => {
  let reads = 0;
  const document = {
    info: { title: 'An API', version: '1', description: 'd' },
    get paths() {
      reads++;
      return {};
    },
    tags: [{ name: 'a' }],
  } as unknown as ApiDocument;
  const texts = new ApiTexts(document);
  const first = [texts.json, texts.page];
  for (const text of first) assert.match(text, /An API/);
  const readsOfFirst = reads;
  assert.ok(readsOfFirst > 0);
  assert.deepEqual([texts.json, texts.page], first);
  assert.equal(reads, readsOfFirst);
});
