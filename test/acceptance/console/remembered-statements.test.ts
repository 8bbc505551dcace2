// Statements that the console saves in the browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  savedMax,
  savedStatements,
  saveStatement,
} from '../../../console/src/pages/remembered-statements.ts';

test('a statement is not saved under one name more than the console keeps, and none is lost', () => {
  const items = new Map<string, string>();
  const localStorage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, text: string) => void items.set(key, text),
  };
  Object.assign(globalThis, { localStorage });
  for (let n = 0; n < savedMax; n++) saveStatement(`name ${n}`, `SELECT ${n}`);
  assert.throws(() => saveStatement('another', 'SELECT 0'), /forget one of them first/);
  assert.equal(Object.keys(savedStatements()).length, savedMax);
  assert.equal(saveStatement('name 7', 'SELECT 70')['name 7'], 'SELECT 70');
  saveStatement('name 7', null);
  assert.equal(saveStatement('another', 'SELECT 0')['another'], 'SELECT 0');
});
