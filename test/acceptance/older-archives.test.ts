// Reads archives of each version of the format (test/fixtures/archives): every later release must be able to read them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findBackup } from '#backup/archive/repository.adapter.ts';
import { verifyBackup } from '#backup/inspect/verify.ts';
import { realClock } from '#ports/clock.ts';
import {
  type BucketState,
  backupNode,
  differences,
  type SeenVersion,
  stateOf,
} from '../support/bucket-state.ts';
import { runCommand } from '../support/command.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';

const archives = fileURLToPath(new URL('../fixtures/archives/', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'divan-archives-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const passphrases: Record<string, string | undefined> = {
  v1: undefined,
  v2: 'the passphrase of the fixture',
};

for (const [version, passphrase] of Object.entries(passphrases)) {
  const environment = { DIVAN_BACKUP_PASSPHRASE: passphrase };
  const outputOf = (...args: string[]) => outputWith(environment, ...args);
  const folder = join(scratch, version, 'archive');

  test(`divan backup reads an archive of format ${version}`, async () => {
    unpack(version);
    assert.match(await outputOf('backup', 'verify', folder), /intact/);
    const listed = JSON.parse(await outputOf('backup', 'list', folder, '--json')) as { type: string }[];
    assert.deepEqual(
      listed.map(({ type }) => type),
      ['full', 'incremental'],
    );
    const documents = [...expectedState(version)].filter(([, { kind }]) => kind === 'mutation');
    const lines = (await outputOf('backup', 'export', folder)).trim().split('\n');
    assert.equal(lines.length, documents.length);
    assert.ok(lines.some((line) => line.includes('"key":"a3","value":{"n":"newer"}')));
  });

  test(`the verification of an archive of format ${version} can be stopped`, async () => {
    unpack(version);
    const { repository } = findBackup(folder, passphrase);
    const manifest = repository.manifest(repository.chosen(undefined));
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error('stopped by the test')));
    const verification = { isWanted: () => true, clock: realClock, signal: stop.signal };
    await assert.rejects(verifyBackup(repository, manifest, verification), /stopped by the test/);
  });

  test(`divan restore restores an archive of format ${version}, and the next backup continues it`, async () => {
    unpack(version);
    await using node = await NodeProcess.start();
    const withNode = {
      ...environment,
      DIVAN_URL: node.ready.node.rest,
      DIVAN_PASSWORD: administrator.password,
    };
    assert.match(await outputWith(withNode, 'restore', folder), /1 index created/);
    const found = await stateOf(backupNode(node), 'travel');
    assert.deepEqual(differences(expectedState(version), found), []);
    const next = await outputWith(withNode, 'backup', folder);
    assert.match(next, /incremental backup/);
    await outputOf('backup', 'verify', folder);
  });
}

function unpack(version: string): void {
  const parent = join(scratch, version);
  rmSync(parent, { recursive: true, force: true });
  mkdirSync(parent);
  execFileSync('tar', ['-xzf', join(archives, `${version}.tar.gz`), '-C', parent]);
}

function expectedState(version: string): BucketState {
  const rows = JSON.parse(readFileSync(join(archives, `${version}.expected.json`), 'utf8')) as Record<
    string,
    Omit<SeenVersion, 'cas'> & { cas: string }
  >;
  return new Map(Object.entries(rows).map(([key, row]) => [key, { ...row, cas: BigInt(row.cas) }]));
}

/** Runs a command, which must succeed without a warning. */
async function outputWith(
  environment: Record<string, string | undefined>,
  ...args: string[]
): Promise<string> {
  const { status, out, error } = await runCommand(args, environment);
  assert.deepEqual([status, error], [0, ''], args.join(' '));
  return out;
}
