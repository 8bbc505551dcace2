// Encrypted backups: what needs the passphrase, what is refused, and that changes by people without the passphrase are detected.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Cluster, Collection } from 'couchbase';
import { blockHeaderBytes } from '#backup/format/block.ts';
import { readByPageReader } from '../support/archive-page-reader.ts';
import { backupNode, differences, stateOf } from '../support/bucket-state.ts';
import { type CommandEnd, runCommand } from '../support/command.ts';
import { administrator, NodeProcess } from '../support/node-process.ts';
import { connect } from '../support/sdk.ts';

const passphrase = 'correct hörse';
const marker = 'the-secret-of-the-document';
const documentsPerBackup = 10;

describe('encrypted backups', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-backup-encryption-'));
  const repository = join(scratch, 'repository');
  /** Names of the backups, from the oldest on. */
  const names: string[] = [];
  let node: NodeProcess;
  let cluster: Cluster;
  let documents: Collection;

  before(async () => {
    node = await NodeProcess.start({ args: ['--bucket', 'b'] });
    cluster = await connect(`couchbase://${node.ready.node.kv}`, administrator);
    documents = cluster.bucket('b').defaultCollection();
    for (let n = 0; n < 2 * documentsPerBackup; n++) {
      await documents.upsert(`${marker}-${n}`, { n, marker });
      if ((n + 1) % documentsPerBackup === 0)
        names.push(JSON.parse(await succeeds('backup', repository, '--json')).backup);
    }
  });
  after(async () => {
    await cluster?.close();
    await node?.[Symbol.asyncDispose]();
    rmSync(scratch, { recursive: true, force: true });
  });

  const divanWith = (givenPassphrase: string | undefined, ...args: string[]): Promise<CommandEnd> =>
    runCommand(args, {
      DIVAN_PASSWORD: administrator.password,
      DIVAN_URL: node.ready.node.rest,
      DIVAN_BACKUP_PASSPHRASE: givenPassphrase,
    });

  async function succeeds(...args: string[]): Promise<string> {
    const { status, out, error } = await divanWith(passphrase, ...args);
    assert.deepEqual([status, error], [0, ''], args.join(' '));
    return out;
  }

  let copies = 0;
  function copyOfRepository(): string {
    const copy = join(scratch, `copy-${copies++}`);
    cpSync(repository, copy, { recursive: true });
    return copy;
  }

  it('are restored, listed, verified, examined, exported and merged with the passphrase', async () => {
    const expected = await stateOf(backupNode(node), 'b');
    await succeeds('restore', repository, '--map', 'b=copy');
    assert.deepEqual(differences(expected, await stateOf(backupNode(node), 'copy')), []);
    assert.deepEqual(
      (JSON.parse(await succeeds('backup', 'list', repository, '--json')) as { type: string }[]).map(
        ({ type }) => type,
      ),
      ['full', 'incremental'],
    );
    assert.match(await succeeds('backup', 'verify', repository), /intact/);
    assert.match(
      await succeeds('backup', 'examine', repository, '--bucket', 'b', '--key', `${marker}-3`),
      new RegExp(`"marker":"${marker}"`),
    );
    const copy = copyOfRepository();
    const exported = (await succeeds('backup', 'export', copy)).split('\n').sort();
    assert.match(await succeeds('backup', 'merge', copy), /2 backups merged/);
    assert.deepEqual((await succeeds('backup', 'export', copy)).split('\n').sort(), exported);
  });

  it('have neither a document, nor a key, nor the passphrase in their files', () => {
    const files = readdirSync(repository, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    assert.ok(files.some(({ name }) => name === '0.data'));
    for (const file of files) {
      const bytes = readFileSync(join(file.parentPath, file.name));
      for (const secret of [marker, passphrase]) assert.ok(!bytes.includes(secret), file.name);
    }
  });

  it('are read with a passphrase from a file, without the end of its line', async () => {
    const file = join(scratch, 'passphrase');
    writeFileSync(file, `${passphrase}\n`);
    const { status } = await divanWith(undefined, 'backup', 'verify', repository, '--passphrase-file', file);
    assert.equal(status, 0);
    const missing = await divanWith(
      undefined,
      'backup',
      'verify',
      repository,
      '--passphrase-file',
      `${file}-none`,
    );
    assert.match(missing.error, /--passphrase-file: ENOENT/);
  });

  it('are refused without a passphrase and with a wrong, empty or too long one, as is a passphrase for a plain repository', async () => {
    const plain = join(scratch, 'plain');
    assert.equal((await divanWith(undefined, 'backup', plain)).status, 0);
    const commandsOn = (where: string): string[][] => [
      ['backup', where],
      ['restore', where],
      ['backup', 'list', where],
      ['backup', 'merge', where],
      ['backup', 'remove', where, '--backup', names[1] as string],
    ];
    const refusals: [string | undefined, string, RegExp][] = [
      ['wrong', repository, /the passphrase is not that of .*repository\.json, or this file was changed/],
      ['', repository, /the passphrase is empty/],
      ['x'.repeat(1_001), repository, /the passphrase has more than 1000 bytes/],
      [undefined, repository, /is encrypted: give its passphrase/],
      [passphrase, plain, /a passphrase is given, but .* is not encrypted/],
    ];
    // All commands open a repository in one way: two of them suffice for the other passphrases.
    for (const [given, where, expected] of refusals)
      for (const args of given === 'wrong' ? commandsOn(where) : commandsOn(where).slice(0, 2)) {
        const { status, error } = await divanWith(given, ...args);
        assert.match(error, expected, args.join(' '));
        assert.equal(status, 1);
        if (given) assert.ok(!error.includes(given), 'the error shows the passphrase');
      }
    assert.equal(JSON.parse(await succeeds('backup', 'list', repository, '--json')).length, 2);
  });

  it('are refused after changes by somebody who has no passphrase, but computes the hashes again', async () => {
    const [first = ''] = names;
    const changes: Record<string, [(copy: string) => void, RegExp]> = {
      'a byte of a block, with its hash': [(copy) => changeBlock(copy, first), /was changed by somebody/],
      'blocks marked as plain': [
        (copy) => changeBlock(copy, first, { plainFlag: true }),
        /is not encrypted, unlike its repository/,
      ],
      'the manifest': [
        (copy) => {
          const path = join(copy, first, 'manifest.json');
          const text = readFileSync(path, 'utf8').replace('"flushEnabled":0', '"flushEnabled":1');
          writeFileSync(path, text);
          const hash = createHash('sha256').update(text).digest('hex');
          for (const file of ['manifest.sha256', 'manifest.hmac'])
            writeFileSync(join(copy, first, file), `${hash}  manifest.json\n`);
        },
        /manifest\.json was changed: manifest\.hmac states another hash/,
      ],
      'the repository marked as plain': [
        (copy) => editDescription(copy, (description) => ({ ...description, version: 1 })),
        /a passphrase is given, but .* is not encrypted/,
      ],
      'the id of the repository': [
        (copy) => editDescription(copy, (description) => ({ ...description, id: '0'.repeat(32) })),
        /the passphrase is not that of/,
      ],
      'a cost of scrypt above the limit': [
        (copy) =>
          editDescription(copy, (description) => ({
            ...description,
            encryption: { ...(description['encryption'] as object), cost: 2 ** 40 },
          })),
        /its scrypt parameters are not allowed/,
      ],
      'another cipher': [
        (copy) =>
          editDescription(copy, (description) => ({
            ...description,
            encryption: { ...(description['encryption'] as object), cipher: 'none' },
          })),
        /encryption.cipher: must be a text that matches/,
      ],
    };
    for (const [what, [change, expected]] of Object.entries(changes)) {
      const copy = copyOfRepository();
      change(copy);
      const { status, error } = await divanWith(passphrase, 'backup', 'verify', copy);
      assert.match(error, expected, what);
      assert.equal(status, 1);
    }
  });

  it('are read with the passphrase by the program of the reference page', () => {
    const backup = join(repository, names[0] as string);
    const lines = readByPageReader(backup, passphrase);
    assert.equal(lines.length, documentsPerBackup);
    assert.ok(lines.every((line) => JSON.parse(line).value.marker === marker));
    assert.throws(() => readByPageReader(backup, 'wrong'), /a wrong passphrase/);
  });
});

function editDescription(copy: string, change: (description: Record<string, unknown>) => unknown): void {
  const path = join(copy, 'repository.json');
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
}

const archiveHeaderBytes = 32;
/** Offsets in the header of a block, which block.ts describes. */
const flagsAt = 6;
const storedBytesAt = 16;
const hashAt = 36;
const encryptedFlag = 2;
/** At the end of encrypted bytes. */
const tagBytes = 16;
/** The hash covers the number of the bucket in the backup, which is 0. */
const bucketNumber = Buffer.alloc(4);

/** Changes the first block and computes its hash again. */
function changeBlock(copy: string, name: string, { plainFlag = false } = {}): void {
  const path = join(copy, name, '0.data');
  const { id } = JSON.parse(readFileSync(join(copy, name, 'manifest.json'), 'utf8')) as { id: string };
  const bytes = readFileSync(path);
  const block = bytes.subarray(archiveHeaderBytes);
  const storedEnd = blockHeaderBytes + block.readUInt32BE(storedBytesAt);
  const frameByteAt = storedEnd - tagBytes - 1;
  if (plainFlag) block.writeUInt16BE(block.readUInt16BE(flagsAt) & ~encryptedFlag, flagsAt);
  else block.writeUInt8(block.readUInt8(frameByteAt) ^ 1, frameByteAt);
  const hash = createHash('sha256').update(Buffer.from(id, 'hex')).update(bucketNumber);
  hash.update(block.subarray(0, hashAt)).update(block.subarray(blockHeaderBytes, storedEnd));
  hash.digest().copy(block, hashAt);
  writeFileSync(path, bytes);
}
