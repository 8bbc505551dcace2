import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UsageError } from '../options.ts';
import type { Verb } from '../remote/verb.ts';
import { importVerbs } from './import-verbs.ts';
import { KeyGenerator } from './key-generator.ts';

test('divan import refuses options that would have no effect, and what is no file', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-import-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'documents.jsonl');
  writeFileSync(file, '{}\n');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const [verb] = importVerbs as readonly Verb[];
  const run = (path: string, given: object) =>
    verb?.run({ url: '', 'generate-key': new KeyGenerator('k'), 'ignore-fields': [], ...given } as never, [
      'b',
      path,
    ]);
  for (const [path, given, problem] of [
    [file, { separator: ';' }, /--separator: only CSV has cells/],
    [file, { 'infer-types': true }, /--infer-types: only CSV has cells/],
    [file, { 'omit-empty': true }, /--omit-empty: only CSV has cells/],
    [folder, {}, /^FILE: cannot read .*: it is a folder$/],
    [pipe, {}, /^FILE: cannot read .*: a pipe is read as standard input: give -$/],
    ['-', { 'progress-file': 'p' }, /--progress-file: standard input cannot be read again/],
  ] as const)
    await assert.rejects(
      async () => run(path, given),
      (error) => error instanceof UsageError && problem.test(error.message),
    );
});

test('divan import of CSV without names of fields begins nothing that could be continued', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'divan-import-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [verb] = importVerbs as readonly Verb[];
  const options = { url: 'http://127.0.0.1:1', 'generate-key': new KeyGenerator('k'), 'ignore-fields': [] };
  for (const [content, problem] of [
    ['', 'the first line of CSV names the fields; it is missing'],
    ['a,b,a\n1,2,3\n', 'the first line names the field "a" twice'],
  ] as const) {
    writeFileSync(join(folder, 'documents.csv'), content);
    await assert.rejects(async () => verb?.run(options as never, ['b', join(folder, 'documents.csv')]), {
      message: problem,
    });
  }
  assert.deepEqual(readdirSync(folder), ['documents.csv']);
});
