// Archives whose files were changed at random, or replaced by links, pipes and folders: each task says what is wrong, and nothing outside changes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { realClock } from '#ports/clock.ts';
import { realRandom } from '#ports/random.ts';
import { Datatype } from '#wire/status.ts';
import { type ArchivedDocument, addBackup, addPartial } from '../../../test/support/an-archive.ts';
import { aSeed, type Random, randomBytes, randomJson } from '../../../test/support/random.ts';
import { BackupError } from '../format/backup-error.ts';
import { FrameKind } from '../format/frame.ts';
import { examine } from '../inspect/examine.ts';
import { exportLines } from '../inspect/export.ts';
import { summaries } from '../inspect/summaries.ts';
import { verifyBackup } from '../inspect/verify.ts';
import { removeBackups } from '../merge/remove-backups.adapter.ts';
import { runMerge } from '../merge/run-merge.adapter.ts';
import { fileHeaderBytes } from './data-file.adapter.ts';
import { finishMerge } from './merge-intent.adapter.ts';
import { findBackup } from './repository.adapter.ts';

/** At least as many rounds as there are kinds of files and of changes, and as are needed until enough were refused. */
const roundsMin = 25;
const roundsMax = 200;
const refusedMin = 8;
const { signal } = new AbortController();

describe('a hostile archive', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'divan-hostile-'));
  const original = join(scratch, 'original');
  const outside = join(scratch, 'outside');
  const names: string[] = [];
  let partial = '';

  before(() => {
    for (let n = 0; n < 3; n++) names.push(addBackup(original, documents(n)).name);
    partial = addPartial(original).slice(original.length + 1);
    const intent = { end: names[2], id: '0'.repeat(32), replaced: names };
    writeFileSync(join(original, 'merge.json'), JSON.stringify(intent));
    mkdirSync(outside);
    cpSync(join(original, names[0] as string), join(outside, names[0] as string), { recursive: true });
    writeFileSync(join(outside, 'secret'), 'root:x:0:0');
  });
  after(() => rmSync(scratch, { recursive: true, force: true }));

  let copies = 0;
  function copyOf(): string {
    const copy = join(scratch, `copy-${copies++}`);
    cpSync(original, copy, { recursive: true });
    return copy;
  }

  /** Runs every task that reads or writes archives; resolves with their errors. */
  async function allTasks(folder: string): Promise<string[]> {
    const errors: string[] = [];
    const attempt = async (task: () => unknown): Promise<void> => {
      try {
        await task();
      } catch (error) {
        assert.ok(error instanceof BackupError, (error as Error).stack);
        assert.doesNotMatch(error.message, /root:/, 'an error shows what is in a file outside');
        errors.push(error.message);
      }
    };
    const exportAll = (): void => {
      const { repository } = findBackup(folder);
      for (const name of names) {
        const chain = repository.chain(name);
        for (const record of chain[0]?.buckets ?? []) for (const _ of exportLines(repository, chain, record));
      }
    };
    await attempt(() => summaries(findBackup(folder).repository));
    await attempt(exportAll);
    for (const name of names)
      await attempt(() => {
        const { repository } = findBackup(folder);
        return verifyBackup(repository, repository.manifest(name), {
          isWanted: () => true,
          clock: realClock,
          signal,
        });
      });
    await attempt(() => {
      const { repository } = findBackup(folder);
      for (const key of ['k0', 'k3', 'k9'])
        for (const _ of examine(repository, { bucket: 'b', scope: '_default', collection: '_default', key }));
    });
    await attempt(() => finishMerge(findBackup(folder).repository));
    const context = { clock: realClock, random: realRandom, signal, progress: () => {} };
    await attempt(() => runMerge({ folder }, context));
    await attempt(() => removeBackups(folder, [partial]));
    return errors;
  }

  function outsideIsUnchanged(): void {
    assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'root:x:0:0');
    assert.equal(statSync(join(outside, 'secret')).mode & 0o777, secretMode);
    assert.ok(readFileSync(join(outside, names[0] as string, 'manifest.json')).length > 0);
  }
  const secretMode = 0o666 & ~process.umask();

  it('whose files were changed at random is refused with a reason, or read', async (t) => {
    const random = aSeed(t);
    const files = [
      'repository.json',
      'merge.json',
      join(partial, 'partial.json'),
      ...names.flatMap((name) =>
        ['manifest.json', 'manifest.sha256', '0.data'].map((file) => join(name, file)),
      ),
    ];
    let refused = 0;
    for (let round = 0; round < roundsMin || (refused < refusedMin && round < roundsMax); round++) {
      const copy = copyOf();
      const file = files[random(files.length)] as string;
      const text = readFileSync(join(copy, file));
      const damaged = changed(random, text, file.endsWith('.json'));
      writeFileSync(join(copy, file), damaged);
      // An attacker would change the checksum, too.
      if (file.endsWith('manifest.json'))
        writeFileSync(
          join(copy, file.replace('.json', '.sha256')),
          `${createHash('sha256').update(damaged).digest('hex')}  manifest.json\n`,
        );
      if ((await allTasks(copy)).length > 0) refused++;
      rmSync(copy, { recursive: true });
    }
    assert.ok(refused >= refusedMin, `${refused} were refused`);
    outsideIsUnchanged();
  });

  const replacements: Record<string, (path: string) => void> = {
    'a folder': (path) => mkdirSync(path),
    'a pipe': (path) => void execFileSync('mkfifo', [path]),
    'a link to a file outside': (path) => symlinkSync(join(outside, 'secret'), path),
    'a link to itself': (path) => symlinkSync(path, path),
    'an empty file': (path) => writeFileSync(path, ''),
    'a file of 10 TB': (path) => {
      writeFileSync(path, '{');
      truncateSync(path, 1e13);
    },
  };
  for (const [what, replace] of Object.entries(replacements))
    it(`with ${what} in place of a file is refused`, async () => {
      const inBackup = ['manifest.json', 'manifest.sha256', '0.data'].map((file) =>
        join(names[1] as string, file),
      );
      for (const file of ['repository.json', 'merge.json', ...inBackup]) {
        const copy = copyOf();
        rmSync(join(copy, file));
        replace(join(copy, file));
        const errors = await allTasks(copy);
        assert.ok(
          errors.some((error) => error.includes(basename(file))),
          `${file}: ${errors.join('\n')}`,
        );
        rmSync(copy, { recursive: true });
      }
      outsideIsUnchanged();
    });

  it('whose blocks were exchanged is refused', async () => {
    const copy = copyOf();
    const path = join(copy, names[0] as string, '0.data');
    const { repository } = findBackup(copy);
    const manifest = repository.manifest(names[0] as string);
    const offsets = (manifest.buckets[0]?.vbuckets ?? []).map(({ last }) => last).filter((last) => last > 0);
    const [first = 0, second = 0, third = 0] = offsets.sort((a, b) => a - b);
    const bytes = readFileSync(path);
    const parts = [bytes.subarray(0, first), bytes.subarray(second, third), bytes.subarray(first, second)];
    writeFileSync(path, Buffer.concat([...parts, bytes.subarray(third)]));
    const errors = await allTasks(copy);
    assert.ok(
      errors.some((error) => /the block at offset \d+ is damaged/.test(error)),
      errors.join('\n'),
    );
  });

  it('with a decompression bomb whose hash is right is refused before its content takes memory', async () => {
    const copy = join(scratch, 'bomb');
    const { name, id } = addBackup(copy, [{ key: 'k1' }]);
    const path = join(copy, name, '0.data');
    const bomb = zstdCompressSync(Buffer.alloc(200 << 20));
    // The header of the file, and that of its first block up to the hash. The size of the stored bytes is at 16 in the header of the block.
    const head = readFileSync(path).subarray(0, fileHeaderBytes + 36);
    head.writeUInt32BE(bomb.length, fileHeaderBytes + 16);
    const hash = createHash('sha256')
      .update(Buffer.from(id, 'hex'))
      .update(Buffer.alloc(4))
      .update(head.subarray(fileHeaderBytes));
    writeFileSync(path, Buffer.concat([head, hash.update(bomb).digest(), bomb]));
    const { repository } = findBackup(copy);
    using data = repository.data(repository.manifest(name), 0);
    // The reason of zlib itself: the decompression ended at the size that the header claims.
    const stopped = /cannot be decompressed: Cannot create a Buffer larger than \d+ bytes/;
    assert.throws(() => data.block(fileHeaderBytes).frames(), stopped);
  });

  it('with links where a task writes does not lead out of the archive', async () => {
    const last = names.at(-1) as string;
    const targets = [
      'lock.db',
      'lock.pid',
      `lock.${process.pid}.pid`,
      'merge.json.new',
      ...['0.1.data', 'manifest.json.new', 'manifest.sha256.new'].map((file) => join(last, file)),
    ];
    for (const target of targets) {
      const copy = copyOf();
      rmSync(join(copy, 'merge.json'));
      symlinkSync(join(outside, 'secret'), join(copy, target));
      await allTasks(copy);
      outsideIsUnchanged();
      rmSync(copy, { recursive: true });
    }
    const copy = copyOf();
    rmSync(join(copy, names[0] as string), { recursive: true });
    symlinkSync(join(outside, names[0] as string), join(copy, names[0] as string));
    await allTasks(copy);
    outsideIsUnchanged();
  });
});

const datatypes = [Datatype.json, Datatype.json | Datatype.xattr, Datatype.xattr, Datatype.raw];

/** Documents whose datatypes promise JSON and attributes that their values do not have, and whose keys are of other vbuckets. */
function documents(backup: number): ArchivedDocument[] {
  return Array.from({ length: 40 }, (_, n) => ({
    key: `k${n}`,
    kind: n % 7 === 0 ? FrameKind.deletion : FrameKind.mutation,
    datatype: datatypes[(n + backup) % datatypes.length] as number,
    ...(n % 3 === 0 && {
      value: Buffer.from(['', '{"n":', '\xff\xff\xff\xff', '[1,2]'][n % 4] as string, 'latin1'),
    }),
  }));
}

/** Other bytes, fewer bytes, other JSON, or one other field. */
function changed(random: Random, bytes: Buffer, isJson: boolean): Buffer {
  const kind = random(isJson ? 5 : 2);
  if (kind === 0) return bytes.subarray(0, random(bytes.length));
  if (kind === 1) {
    const copy = Buffer.from(bytes);
    for (let change = random(4); change >= 0; change--) copy[random(copy.length)] = random(256);
    return copy;
  }
  if (kind === 2) return Buffer.from(JSON.stringify(randomJson(random, 3)));
  if (kind === 3) return randomBytes(random, random(300));
  return Buffer.from(JSON.stringify(withOtherField(random, JSON.parse(bytes.toString()))));
}

/** Values that a reader must refuse, or for which it must not take much memory or another file. */
const extremes = [
  -1,
  0,
  1e15,
  2 ** 53,
  '',
  '..',
  '../x',
  'a\0b',
  'x'.repeat(255),
  [],
  {},
  null,
  '9'.repeat(20),
];

function withOtherField(random: Random, json: Record<string, unknown>): unknown {
  for (let at = json; ; ) {
    const fields = Object.keys(at);
    const field = fields[random(fields.length)];
    if (field === undefined) return json;
    const inner = at[field];
    if (typeof inner === 'object' && inner !== null && random(4) > 0) at = inner as Record<string, unknown>;
    else {
      at[field] = random(2) === 0 ? randomJson(random, 2) : extremes[random(extremes.length)];
      return json;
    }
  }
}
