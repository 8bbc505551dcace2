import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findServerProgram } from './server-program.adapter.ts';

const folder = mkdtempSync(join(tmpdir(), 'divan-program-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A program that prints this text. */
function aProgram(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\necho '${text}'\n`);
  chmodSync(path, 0o755);
  return path;
}

test('the NATS server is found in the folders of PATH, or is the named one', async () => {
  const path = aProgram('nats-server', 'nats-server: v2.12.0');
  assert.equal(await findServerProgram(undefined, `/nowhere:${folder}`), path);
  assert.equal(await findServerProgram(aProgram('named', 'nats-server: v3.0.1'), ''), join(folder, 'named'));
});

test('the error says how to get the NATS server where it is missing, too old, or something else', async () => {
  const howToGet = /get version 2\.12 or later from https:\/\/github\.com\/nats-io\/.* --nats-server PATH$/;
  const refused = async (given: string | undefined, reason: RegExp): Promise<void> => {
    await assert.rejects(findServerProgram(given, '/nowhere'), ({ message }: Error) => {
      assert.match(message, reason);
      assert.match(message, howToGet);
      return true;
    });
  };
  await refused(undefined, /nats-server, which is not in PATH/);
  await refused(aProgram('old', 'nats-server: v2.11.9'), /old is of version 2\.11\.9, which is too old/);
  await refused(aProgram('other', 'hello'), /other cannot be used as nats-server: it prints no version/);
  await refused(join(folder, 'missing'), /missing cannot be used as nats-server: .*ENOENT/);
});
