// `divan import` and `divan export` with a real node: formats, broken lines, Ctrl-C and a killed node.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { portNumber } from '../support/addresses.ts';
import { runCommand, startCommand } from '../support/command.ts';
import { eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { commandsOn, nodeEnvironment } from '../support/remote-command.ts';

const waitLimitMs = 180_000;
const scratch = mkdtempSync(join(tmpdir(), 'divan-transfer-'));
let node: NodeProcess;
const run = commandsOn(() => node);
const pathOf = (name: string): string => join(scratch, name);

before(async () => {
  node = await NodeProcess.start({ args: ['--bucket', 'b'] });
});
after(async () => {
  await node?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

function fileOf(name: string, content: string | Buffer): string {
  writeFileSync(pathOf(name), content);
  return pathOf(name);
}

async function succeeds(line: string): Promise<string> {
  const { status, out, error } = await run(line);
  assert.deepEqual([status, error], [0, ''], line);
  return out;
}

async function emptyCollection(name: string): Promise<string> {
  await succeeds(`collection create b s.${name}`);
  return `--scope s --collection ${name}`;
}

async function documentsIn(place: string): Promise<Map<string, unknown>> {
  const { out } = await run(`export b - ${place}`);
  const rows = out.trim() === '' ? [] : out.trim().split('\n');
  return new Map(
    rows.map((row) => {
      const { _key, ...rest } = JSON.parse(row);
      return [_key, rest];
    }),
  );
}

describe('divan import', () => {
  it('imports JSON lines, reports broken ones with their number and says so by its status', async () => {
    const place = await emptyCollection('lines');
    const text = '{"id":1}\n{"id":2\n\n{"id":9007199254740993,"n":12345678901234567890}\n{"no":1}\n';
    const file = fileOf('a.jsonl', Buffer.concat([Buffer.from(text), Buffer.from([0x22, 0xff, 0x22, 0x0a])]));
    const { status, out, error } = await run(`import b ${file} ${place} --generate-key k-%id% --json`);
    assert.equal(status, 3);
    const { written, refused, problems } = JSON.parse(out);
    assert.deepEqual([written, refused], [2, 3]);
    assert.deepEqual(
      problems.map(({ line }: { line: number }) => line),
      [2, 5, 6],
    );
    assert.match(
      error,
      /^line 2: is no JSON: .*\nline 5: has no text or number in its field "id"\nline 6: is not UTF-8\n$/,
    );
    assert.equal(
      (await run(`doc get b k-9007199254740993 ${place}`)).out,
      '{"id":9007199254740993,"n":12345678901234567890}\n',
    );
    assert.ok(!existsSync(`${file}.divan-import`));
  });

  it('imports a JSON list without the fields to ignore, and CSV with types', async () => {
    const place = await emptyCollection('other');
    const list = fileOf('a.json', '[{"_key":"x","n":12345678901234567890},\n{"_key":"y"}]');
    await succeeds(`import b ${list} ${place} --generate-key %_key% --ignore-fields _key`);
    assert.equal((await run(`doc get b x ${place}`)).out, '{"n":12345678901234567890}\n');
    const csv = fileOf('a.csv', 'id,name,big,empty\n1,"a ""b""",007,\n2,c,1.5,true\n3,d\n');
    const { status, error } = await run(
      `import b ${csv} ${place} --generate-key r#MONO_INCR# --infer-types --omit-empty`,
    );
    assert.deepEqual([status, error], [3, 'line 4: has 2 cells; the first line names 4\n']);
    const documents = await documentsIn(place);
    assert.deepEqual(documents.get('r1'), { id: 1, name: 'a "b"', big: '007' });
    assert.deepEqual(documents.get('r2'), { id: 2, name: 'c', big: 1.5, empty: true });
  });

  it('inserts only what does not exist, but accepts documents that exist with the same content', async () => {
    const place = await emptyCollection('inserted');
    const file = fileOf('insert.jsonl', '{"id":1}\n{"id":2}\n');
    await succeeds(`doc set b 1 {"id":1} ${place}`);
    await succeeds(`doc set b 2 {"other":1} ${place}`);
    const { status, out, error } = await run(
      `import b ${file} ${place} --generate-key %id% --mode insert --json`,
    );
    assert.equal(status, 3);
    assert.deepEqual([JSON.parse(out).present, JSON.parse(out).refused], [1, 1]);
    assert.equal(error, 'line 2: document "2" exists with another content\n');
  });

  it('names mistakes in one line and writes nothing', async () => {
    const file = fileOf('good.jsonl', '{"id":1}\n');
    for (const [line, expected, message] of [
      [`import b ${file}`, 2, /--generate-key is missing/],
      [`import b ${file} --generate-key %id`, 2, /--generate-key: "%id" should be %FIELD%/],
      [`import b ${pathOf('absent')} --generate-key %id%`, 2, /FILE: cannot read .*absent/],
      [`import b - --generate-key %id% --resume`, 2, /standard input cannot be read again/],
      [`import b ${file} --generate-key %id% --collection none`, 4, /has no collection "_default\.none"/],
      [`import none ${file} --generate-key %id%`, 4, /none/],
    ] as const) {
      const { status, error } = await run(line);
      assert.equal(status, expected, error);
      assert.match(error, message);
      assert.doesNotMatch(error, /\n {4}at /);
    }
    assert.deepEqual(await documentsIn('--collection _default'), new Map());
  });

  it('accepts keys of 250 bytes in the default collection, and of 246 in others', async () => {
    const file = fileOf('long.jsonl', `{"id":"${'k'.repeat(250)}"}\n`);
    await succeeds(`import b ${file} --generate-key %id%`);
    const place = await emptyCollection('long');
    const { status, error } = await run(`import b ${file} ${place} --generate-key %id%`);
    assert.equal(status, 3);
    assert.equal(error, 'line 1: its key has 250 bytes; a key of this collection has at most 246\n');
  });
});

describe('divan export', () => {
  it('writes lines, lists and CSV that an import reads again', async () => {
    const place = await emptyCollection('exported');
    const lines = Array.from({ length: 500 }, (_, n) =>
      JSON.stringify({ n, text: `a "${n}",\nb`, list: [n] }),
    );
    await succeeds(`import b ${fileOf('all.jsonl', lines.join('\n'))} ${place} --generate-key d%n%`);
    const expected = await documentsIn(place);
    assert.equal(expected.size, 500);
    const back = await emptyCollection('back');
    for (const [name, format] of [
      ['out.jsonl', ''],
      ['out.json', ''],
      ['out.csv', '--infer-types'],
    ] as const) {
      assert.match(await succeeds(`export b ${pathOf(name)} ${place}`), /^500 documents exported, /);
      assert.ok(!existsSync(`${pathOf(name)}.divan-export`));
      await succeeds(
        `import b ${pathOf(name)} ${back} --generate-key %_key% --ignore-fields _key ${format}`.trim(),
      );
      const found = await documentsIn(back);
      if (format === '') assert.deepEqual(found, expected);
      else assert.deepEqual(found.get('d7'), { n: 7, text: 'a "7",\nb', list: '[7]' });
    }
    assert.equal(JSON.parse(readFileSync(pathOf('out.json'), 'utf8')).length, 500);
    const { status, error } = await run(`export b ${pathOf('out.json')} ${place}`);
    assert.equal(status, 1);
    assert.match(error, /give --replace to write over it/);
  });

  it('leaves out what is not a JSON object, reports it and says so by its status', async () => {
    const place = await emptyCollection('mixed');
    await succeeds(`doc set b object {"a":1} ${place}`);
    await succeeds(`doc set b number 5 ${place}`);
    await succeeds(`doc set b bytes --file ${fileOf('bytes', Buffer.from([255]))} ${place}`);
    await succeeds(`doc set b own {"_key":1} ${place}`);
    const { status, out, error } = await run(`export b - ${place}`);
    assert.deepEqual([status, out], [3, '{"_key":"object","a":1}\n']);
    assert.match(error, /document "number": is not an object/);
    assert.match(error, /document "bytes": is not JSON/);
    assert.match(error, /document "own": has a field "_key" itself/);
    assert.match((await run(`export b - ${place} --include-key`, '')).out, /^5$/m);
  });
});

describe('an interrupted import', () => {
  /** How often an import or export is repeated that ends before it can be interrupted, as a fast machine may be done before the signal. */
  const attemptsMax = 10;
  const count = 40_000;
  const line = (n: number): string => `{"n":${n},"text":"some text that makes the line a little longer"}`;
  const fileOfLines = (name: string): string =>
    fileOf(name, `${Array.from({ length: count }, (_, n) => line(n)).join('\n')}\n`);
  const importArgs = (file: string, bucket: string): string[] => [
    'import',
    bucket,
    file,
    '--generate-key',
    'u-#UUID#',
  ];
  const offsetIn = (file: string): number =>
    JSON.parse(readFileSync(`${file}.divan-import`, 'utf8')).state.state.offset;
  const documentCount = async (bucket: string): Promise<number> => {
    const listed = JSON.parse((await run('bucket list --json')).out) as { name: string; documents: number }[];
    return listed.find(({ name }) => name === bucket)?.documents ?? 0;
  };
  const whenUnderWay = (file: string): Promise<void> =>
    eventuallyWithin(waitLimitMs, () => assert.ok(offsetIn(file) > 0));

  /** Starts imports until one is interrupted before its end. */
  async function interrupt(
    file: string,
    bucket: string,
    end: () => Promise<unknown>,
    signal?: NodeJS.Signals,
  ) {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { child, ended } = startCommand(importArgs(file, bucket), nodeEnvironment(node));
      const isOver = ended.then(() => true);
      const isUnderWay = await Promise.race([isOver.then(() => false), whenUnderWay(file).then(() => true)]);
      if (isUnderWay) {
        if (signal !== undefined) child.kill(signal);
        await end();
      }
      const result = await ended;
      if (result.status !== 0) return result;
      await succeeds(`bucket flush ${bucket}`);
    }
    throw new Error('no import was interrupted');
  }

  it('says after Ctrl-C what is written, and continues there with the same keys', async () => {
    await succeeds('bucket create stopped --flush on --quota 200');
    const file = fileOfLines('stopped.jsonl');
    const stopped = await interrupt(file, 'stopped', async () => {}, 'SIGINT');
    assert.equal(stopped.status, 130);
    const [, written, before] =
      /stopped: the bucket has (\d+) documents? of the lines before (\d+); go on with --resume/.exec(
        stopped.error,
      ) ?? [];
    assert.equal(Number(written), Number(before) - 1, stopped.error);
    assert.ok(Number(written) > 0 && Number(written) < count);
    await eventuallyWithin(waitLimitMs, async () =>
      assert.equal(await documentCount('stopped'), Number(written)),
    );
    const other = await runCommand([...importArgs(file, 'b'), '--resume'], nodeEnvironment(node));
    assert.match(other.error, /--resume: .* is of another task: its bucket was "stopped"/);
    const resumed = await runCommand(
      [...importArgs(file, 'stopped'), '--resume', '--json'],
      nodeEnvironment(node),
    );
    assert.deepEqual([resumed.status, resumed.error], [0, '']);
    assert.equal(JSON.parse(resumed.out).written, count);
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await documentCount('stopped'), count));
  });

  it('notices that a killed node lost documents, and writes them again with the same keys; an export continues, too', async () => {
    await succeeds('bucket create killed --flush on --quota 200');
    const file = fileOfLines('killed.jsonl');
    const { dataDir, ready } = node;
    const ports = { rest: portNumber(ready.node.rest), kv: portNumber(ready.node.kv) };
    const killed = await interrupt(file, 'killed', async () => {
      await node.stop('SIGKILL');
      node = await NodeProcess.start({ dataDir, ports, unprovisioned: true });
    });
    assert.equal(killed.status, 1, killed.error);
    assert.match(killed.error, /the bucket has \d+ documents? of the lines before \d+; go on with --resume/);
    const resumed = await runCommand(
      [...importArgs(file, 'killed'), '--resume', '--json'],
      nodeEnvironment(node),
    );
    assert.equal(resumed.status, 0, resumed.error);
    assert.match(resumed.error, /may have lost documents since; all are written again, from the first line/);
    await eventuallyWithin(waitLimitMs, async () => assert.equal(await documentCount('killed'), count));
    const out = pathOf('killed-export.jsonl');
    await exportInterrupted(out);
    assert.equal(readFileSync(out, 'utf8').trim().split('\n').length, count);
    assert.equal(new Set(readFileSync(out, 'utf8').trim().split('\n')).size, count);
  });

  /** An export that is stopped as soon as it is under way continues without gaps and repetitions. One that ends before is repeated. */
  async function exportInterrupted(out: string): Promise<void> {
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      rmSync(out, { force: true });
      const { child, ended } = startCommand(['export', 'killed', out], nodeEnvironment(node));
      const isUnderWay = eventuallyWithin(waitLimitMs, () =>
        assert.ok(existsSync(out) && statSync(out).size > 0),
      );
      await Promise.race([ended, isUnderWay]);
      child.kill('SIGINT');
      const { status, error } = await ended;
      if (status === 0) continue;
      assert.equal(status, 130, error);
      assert.match(error, /stopped: the file has \d+ documents?; go on with --resume/);
      const resumed = await runCommand(['export', 'killed', out, '--resume'], nodeEnvironment(node));
      assert.deepEqual([resumed.status, resumed.error], [0, '']);
      return;
    }
    assert.fail(`none of ${attemptsMax} exports was stopped while it was under way`);
  }
});
