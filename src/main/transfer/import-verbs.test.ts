import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
