// A data folder that lost its configuration, its log or its key: a node that started over would hide the old data
// and accept every client. The start fails with one line and changes nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launcher, NodeProcess, portFlags } from '../support/node-process.ts';

const scratch = mkdtempSync(join(tmpdir(), 'divan-lost-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A folder of a killed node: its configuration is still in the write-ahead log. */
const killed = join(scratch, 'killed');
/** A folder of a stopped node: its configuration is in the file. */
const stopped = join(scratch, 'stopped');

before(async () => {
  await using node = await NodeProcess.start({ dataDir: killed, args: ['--bucket', 'b'] });
  await node.stop('SIGKILL');
  cpSync(killed, stopped, { recursive: true });
  await using other = await NodeProcess.start({ dataDir: stopped });
  assert.equal(await other.stop(), 0);
});

const cases: { what: string; of: string; damage: (folder: string) => void; message: RegExp }[] = [
  {
    what: 'without its configuration file',
    of: stopped,
    damage: (folder) => rmSync(join(folder, 'config.db')),
    message: /config\.db is missing or empty, though its folder holds data of a node/,
  },
  {
    what: 'with an empty configuration file',
    of: stopped,
    damage: (folder) => truncateSync(join(folder, 'config.db')),
    message: /config\.db is missing or empty/,
  },
  {
    what: 'without its configuration file, but with the write-ahead log',
    of: killed,
    damage: (folder) => rmSync(join(folder, 'config.db')),
    message: /config\.db is missing or empty/,
  },
  {
    what: 'without the write-ahead log of its configuration',
    of: killed,
    damage: (folder) => rmSync(join(folder, 'config.db-wal')),
    message: /cannot open the configuration file .*: the last \d+ of its \d+ commits are missing/,
  },
  {
    what: 'without the write-ahead log of its configuration and the count of its commits',
    of: killed,
    damage: (folder) => {
      rmSync(join(folder, 'config.db-wal'));
      rmSync(join(folder, 'config.db-commits'));
    },
    message:
      /cannot open the configuration file .*: its write-ahead log is missing, though the file was in use/,
  },
  {
    what: 'whose write-ahead log lacks its last byte',
    of: killed,
    damage: (folder) => {
      const log = join(folder, 'config.db-wal');
      truncateSync(log, statSync(log).size - 1);
    },
    message: /cannot open the configuration file .*: the last 1 of its \d+ commits are missing/,
  },
  {
    what: 'with a changed letter in its configuration',
    of: stopped,
    damage: (folder) =>
      change(join(folder, 'config.db'), (bytes) => {
        for (let at = -1; (at = bytes.indexOf('"type":"native"', at + 1)) >= 0; ) bytes.write('d', at + 13);
      }),
    message: /cannot open the configuration file .*: the entry "buckets" is damaged/,
  },
  {
    what: 'whose write-ahead log is damaged before its end',
    of: killed,
    damage: (folder) => change(join(folder, 'config.db-wal'), (bytes) => bytes.fill(0x55, 200, 300)),
    message:
      /cannot open the configuration file .*its write-ahead log is damaged at frame 1, before \d+ commits/,
  },
  {
    what: 'with half of its configuration file',
    of: stopped,
    damage: (folder) => truncateSync(join(folder, 'config.db'), statSync(join(folder, 'config.db')).size / 2),
    message: /cannot open the configuration file .*malformed/,
  },
  {
    what: 'with a damaged entry in its configuration',
    of: stopped,
    damage: (folder) =>
      change(join(folder, 'config.db'), (bytes) => {
        // A page may contain older versions of the text.
        for (let at = -1; (at = bytes.indexOf('"memoryQuotaMb":', at + 1)) >= 0; ) bytes.write('#', at);
      }),
    message: /cannot open the configuration file .*: the entry "buckets" is damaged/,
  },
  {
    what: 'without its key',
    of: stopped,
    damage: (folder) => rmSync(join(folder, 'secret.key')),
    message: /cannot use the secret\.key of the data folder .*: it is missing, though there is a config\.db/,
  },
  {
    what: 'with a key that is too short',
    of: stopped,
    damage: (folder) => truncateSync(join(folder, 'secret.key'), 16),
    message: /cannot use the secret\.key of the data folder .*: a key of 32 bytes is needed, not 16/,
  },
  {
    what: 'with the key of another folder',
    of: stopped,
    damage: (folder) => writeFileSync(join(folder, 'secret.key'), Buffer.alloc(32, 7)),
    message: /the secret\.key of the data folder .* is not the one it had/,
  },
  {
    what: 'whose lock file is not a database',
    of: stopped,
    damage: (folder) => writeFileSync(join(folder, 'lock.db'), 'x'.repeat(5000)),
    message: /cannot lock the data folder .*: lock\.db: file is not a database/,
  },
];

for (const [index, { what, of, damage, message }] of cases.entries()) {
  test(`refuses to start on a data folder ${what}, and leaves the files of its buckets as they are`, () => {
    const folder = join(scratch, `${index}`);
    cpSync(of, folder, { recursive: true });
    damage(folder);
    // The first attempt changes nothing that would let the second one start.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const { status, stderr } = start(folder);
      assert.match(stderr, message);
      assert.equal(status, 1);
      assert.doesNotMatch(stderr, /\n {4}at /);
    }
    assert.deepEqual(filesOfBuckets(folder), filesOfBuckets(of));
  });
}

function change(path: string, edit: (bytes: Buffer) => unknown): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

/** The files of the buckets, with their contents. */
function filesOfBuckets(folder: string): [path: string, content: Buffer][] {
  const buckets = join(folder, 'buckets');
  return readdirSync(buckets, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(buckets, path)).isFile())
    .sort()
    .map((path) => [path, readFileSync(join(buckets, path))]);
}

function start(folder: string) {
  const flags = ['--data-dir', folder, ...portFlags, '--username', 'Administrator', '--password', 'password'];
  const options = { encoding: 'utf8', timeout: 120_000 } as const;
  return spawnSync(process.execPath, [launcher, 'node', ...flags, '--bucket', 'b'], options);
}
