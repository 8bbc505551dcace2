// A data folder that lost its configuration, its log or its key: a node that started over would hide the old data
// and let everybody in. The start fails with one line and changes nothing.
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

const cases: { what: string; of: string; harm: (folder: string) => void; says: RegExp }[] = [
  {
    what: 'whose configuration is gone',
    of: stopped,
    harm: (folder) => rmSync(join(folder, 'config.db')),
    says: /config\.db is missing or empty, though its folder holds data of a node/,
  },
  {
    what: 'whose configuration is empty',
    of: stopped,
    harm: (folder) => truncateSync(join(folder, 'config.db')),
    says: /config\.db is missing or empty/,
  },
  {
    what: 'whose configuration is gone, but for its log',
    of: killed,
    harm: (folder) => rmSync(join(folder, 'config.db')),
    says: /config\.db is missing or empty/,
  },
  {
    what: 'whose configuration lost its log',
    of: killed,
    harm: (folder) => rmSync(join(folder, 'config.db-wal')),
    says: /cannot open the configuration file .*: the last \d+ of its \d+ commits are missing/,
  },
  {
    what: 'whose configuration lost its log, and the count of its commits',
    of: killed,
    harm: (folder) => {
      rmSync(join(folder, 'config.db-wal'));
      rmSync(join(folder, 'config.db-commits'));
    },
    says: /cannot open the configuration file .*: its write-ahead log is missing, though the file was in use/,
  },
  {
    what: 'the end of the log of whose configuration is cut off',
    of: killed,
    harm: (folder) => {
      const log = join(folder, 'config.db-wal');
      truncateSync(log, statSync(log).size - 1);
    },
    says: /cannot open the configuration file .*: the last 1 of its \d+ commits are missing/,
  },
  {
    what: 'a letter in whose configuration is another',
    of: stopped,
    harm: (folder) =>
      change(join(folder, 'config.db'), (bytes) => {
        for (let at = -1; (at = bytes.indexOf('"type":"native"', at + 1)) >= 0; ) bytes.write('d', at + 13);
      }),
    says: /cannot open the configuration file .*: the entry "buckets" is damaged/,
  },
  {
    what: 'the log of whose configuration is damaged before its end',
    of: killed,
    harm: (folder) => change(join(folder, 'config.db-wal'), (bytes) => bytes.fill(0x55, 200, 300)),
    says: /cannot open the configuration file .*its write-ahead log is damaged at frame 1, before \d+ commits/,
  },
  {
    what: 'of whose configuration half is gone',
    of: stopped,
    harm: (folder) => truncateSync(join(folder, 'config.db'), statSync(join(folder, 'config.db')).size / 2),
    says: /cannot open the configuration file .*malformed/,
  },
  {
    what: 'an entry of whose configuration is damaged',
    of: stopped,
    harm: (folder) =>
      change(join(folder, 'config.db'), (bytes) => {
        // A page may contain older versions of the text.
        for (let at = -1; (at = bytes.indexOf('"memoryQuotaMb":', at + 1)) >= 0; ) bytes.write('#', at);
      }),
    says: /cannot open the configuration file .*: the entry "buckets" is damaged/,
  },
  {
    what: 'whose key is gone',
    of: stopped,
    harm: (folder) => rmSync(join(folder, 'secret.key')),
    says: /cannot use the secret\.key of the data folder .*: it is missing, though there is a config\.db/,
  },
  {
    what: 'whose key is short',
    of: stopped,
    harm: (folder) => truncateSync(join(folder, 'secret.key'), 16),
    says: /cannot use the secret\.key of the data folder .*: a key of 32 bytes is needed, not 16/,
  },
  {
    what: 'whose key is another',
    of: stopped,
    harm: (folder) => writeFileSync(join(folder, 'secret.key'), Buffer.alloc(32, 7)),
    says: /the secret\.key of the data folder .* is not the one it had/,
  },
  {
    what: 'whose lock is no database',
    of: stopped,
    harm: (folder) => writeFileSync(join(folder, 'lock.db'), 'x'.repeat(5000)),
    says: /cannot lock the data folder .*: lock\.db: file is not a database/,
  },
];

for (const [index, { what, of, harm, says }] of cases.entries()) {
  test(`refuses, and leaves as it is, a data folder ${what}`, () => {
    const folder = join(scratch, `${index}`);
    cpSync(of, folder, { recursive: true });
    harm(folder);
    for (let attempt = 0; attempt < 2; attempt++) {
      const { status, stderr } = start(folder);
      assert.match(stderr, says);
      assert.equal(status, 1);
      assert.doesNotMatch(stderr, /\n {4}at /);
    }
    assert.deepEqual(bucketsIn(folder), bucketsIn(of));
  });
}

function change(path: string, edit: (bytes: Buffer) => unknown): void {
  const bytes = readFileSync(path);
  edit(bytes);
  writeFileSync(path, bytes);
}

const bucketsIn = (folder: string): string[] => readdirSync(join(folder, 'buckets'));

function start(folder: string) {
  const flags = ['--data-dir', folder, ...portFlags, '--username', 'Administrator', '--password', 'password'];
  const options = { encoding: 'utf8', timeout: 20_000 } as const;
  return spawnSync(process.execPath, [launcher, 'node', ...flags, '--bucket', 'b'], options);
}
