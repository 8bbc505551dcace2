// Acknowledged commits survive `kill -9`; other commits are applied completely or not at all.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { loaded } from '../../../../test/support/cuts.ts';
import { aSeed } from '../../../../test/support/random.ts';
import { sqliteEngine } from '../adapters/sqlite-engine.ts';

const program = new URL('../../../../test/support/commit-until-killed.ts', import.meta.url).pathname;
const bucketUuid = 'e'.repeat(32);

/** Runs the program until `commits` were acknowledged, kills it, and returns the last acknowledged round of each file. */
async function commitAndKill(
  folder: string,
  kind: string,
  first: readonly number[],
  commits: number,
): Promise<number[]> {
  const child = spawn(process.execPath, [program, folder, kind, ...first.map(String)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.split('\n').length > commits) child.kill('SIGKILL');
  }
  assert.deepEqual(await exit, [null, 'SIGKILL']);
  const lines = output.split('\n').slice(0, -1);
  const last = (file: number): number =>
    Number(lines.findLast((line) => line.startsWith(`${file} `))?.slice(2) ?? (first[file] as number) - 1);
  return first.map((_, file) => last(file));
}

/** The value of each key after the rounds 1 to `last`; the same keys as in the program. */
function expected(last: number): Map<string, string> {
  const values = new Map<string, string>();
  for (let round = 1; round <= last; round++) {
    for (let i = 0; i < 30; i++) {
      const value = `${round} `.repeat(i === 0 ? 2000 : 60);
      values.set(`${i % 8} key ${(round * 7 + i * 13) % 997}`, value);
    }
  }
  return values;
}

const rounds = Number(process.env['DIVAN_TEST_KILLS'] ?? 5);

for (const kind of ['usual', 'urgent'])
  test(`every acknowledged ${kind} commit survives ${rounds} kills of the process`, async (t) => {
    const random = aSeed(t);
    const folder = await mkdtemp(join(tmpdir(), 'divan-kill-'));
    const first = [1, 1];
    try {
      for (let kill = 0; kill < rounds; kill++) {
        const acknowledged = await commitAndKill(folder, kind, first, 20 + random(150));
        const engine = sqliteEngine();
        const files = { folder, bucketUuid, incarnation: 1, fileCount: 2 };
        const { opened, damaged } = await engine.open(files);
        assert.deepEqual(damaged, []);
        for (const { file, clean, vbuckets } of opened) {
          assert.equal(clean, false);
          const high = Math.max(...vbuckets.map(({ highSeqno }) => highSeqno));
          const last = Math.floor(high / 30);
          assert.ok(last >= (acknowledged[file] as number), `file ${file}: ${last} of ${acknowledged}`);
          assert.ok(last <= (acknowledged[file] as number) + 1);
          const docs = await loaded(engine, files, file);
          const found = new Map(docs.map(({ vb, key, value }) => [`${(vb - file) / 2} ${key}`, value]));
          assert.deepEqual(new Set(found.keys()), new Set(expected(last).keys()));
          for (const [key, value] of expected(last)) assert.equal(found.get(key), value, key);
          first[file] = last + 1;
        }
        await engine.stop();
        t.diagnostic(`killed after rounds ${acknowledged}`);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });
