// The history of a repository's tasks: reads of a large file share the thread with other work and return a bounded answer.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { realClock } from '#ports/clock.ts';
import { silentLog } from '#ports/log.ts';
import { historyMax, historySuffix, TaskHistory } from './task-history.adapter.ts';
import type { TaskRecord } from './task-record.ts';

const archive = mkdtempSync(join(tmpdir(), 'divan-history-'));
const place = { archive, repo: 'travel' };
const path = join(archive, `travel${historySuffix}`);
const nowMs = Date.parse('2026-11-23T10:00:00Z');
const mib = 1 << 20;
after(() => rmSync(archive, { recursive: true }));

const taskRecord = (number: number, change: Partial<TaskRecord> = {}): TaskRecord => ({
  run: `run ${number}`,
  name: number % 2 === 0 ? 'even' : 'odd',
  type: 'BACKUP',
  isScheduled: true,
  nodeId: 'n',
  startMs: nowMs + number,
  endMs: null,
  status: 'done',
  progress: 100,
  about: '',
  error: '',
  notes: [],
  buckets: [],
  target: '',
  ...change,
});
const lineOf = (record: TaskRecord): string => `${JSON.stringify(record)}\n`;
/** The runs in the file, in its order. A node that sees a line which another one is just writing may begin an empty line. */
const keptRuns = (): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as TaskRecord).run);
const range = (count: number): number[] => Array.from({ length: count }, (_, number) => number);

describe('the history of tasks', () => {
  let turns: number;
  let history: TaskHistory;
  const newHistory = (): TaskHistory => {
    const clock = {
      ...realClock,
      wallMs: () => nowMs,
      soon: (callback: () => void) => {
        turns++;
        setImmediate(callback);
      },
    };
    const settings = () => ({ history_rotation_period: 1, history_rotation_size: 5 });
    return new TaskHistory({ clock, log: silentLog, settings });
  };
  beforeEach(() => {
    turns = 0;
    rmSync(path, { force: true });
    history = newHistory();
  });

  it('is read in parts of a bounded size, one in each turn of the thread', async () => {
    writeFileSync(
      path,
      range(20)
        .map((number) => lineOf(taskRecord(number, { about: 'x'.repeat(100_000) })))
        .join(''),
    );
    assert.equal((await history.read(place)).length, 20);
    assert.ok(turns >= statSync(path).size / (64 << 10), `${turns} turns`);
  });

  it('returns the newest records, up to a number and a size', async () => {
    writeFileSync(
      path,
      range(historyMax + 5)
        .map((number) => lineOf(taskRecord(number)))
        .join(''),
    );
    const records = await history.read(place);
    assert.deepEqual([records.length, records.at(-1)?.run], [historyMax, 'run 5']);
    writeFileSync(
      path,
      range(100)
        .map((number) => lineOf(taskRecord(number, { about: 'x'.repeat(200_000) })))
        .join(''),
    );
    const [newest, ...others] = await history.read(place);
    assert.equal(newest?.run, 'run 99');
    assert.equal(
      others.length,
      Math.floor((8 * mib) / lineOf(taskRecord(10, { about: 'x'.repeat(200_000) })).length) - 1,
    );
  });

  it('counts only the records that a query chooses', async () => {
    writeFileSync(
      path,
      range(2 * historyMax)
        .map((number) => lineOf(taskRecord(number)))
        .join(''),
    );
    const chosen = { matches: ({ name }: { name: string }) => name === 'odd', count: historyMax };
    const records = await history.read(place, chosen);
    assert.deepEqual([records.length, records.at(-1)?.run], [historyMax, 'run 1']);
    assert.equal((await history.read(place, { ...chosen, count: 3 })).length, 3);
  });

  it('has the newest state of a run, and leaves out damaged and too long lines', async () => {
    const long = lineOf(taskRecord(7, { about: 'x'.repeat(300_000) }));
    const states = [taskRecord(0, { status: 'running' }), taskRecord(1), taskRecord(0, { status: 'failed' })];
    writeFileSync(path, `{"run":\n${long}\n${states.map(lineOf).join('')}${long}{"run":"cut`);
    const records = await history.read(place);
    assert.deepEqual(
      records.map(({ run, status }) => [run, status]),
      [
        ['run 1', 'done'],
        ['run 0', 'failed'],
      ],
    );
  });

  it('has what is in memory where its file cannot be read', async () => {
    mkdirSync(path);
    try {
      assert.deepEqual(await history.read(place), []);
      await history.note(place, taskRecord(1));
      assert.deepEqual(await history.read(place), [taskRecord(1)]);
    } finally {
      rmSync(path, { recursive: true });
    }
  });

  it('keeps what other nodes add while it removes old records', async () => {
    const old = range(50_000).map((number) => lineOf(taskRecord(number, { startMs: 0 })));
    writeFileSync(path, old.join(''));
    let isDone = false;
    const noted = history.note(place, taskRecord(0)).finally(() => (isDone = true));
    let added = 0;
    while (!isDone) {
      appendFileSync(path, lineOf(taskRecord(++added)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await noted;
    const runs = keptRuns();
    assert.deepEqual([new Set(runs).size, runs.length], [added + 1, added + 1]);
  });

  it('keeps every record when several nodes remove old ones at the same time', async () => {
    const old = range(20_000).map((number) => lineOf(taskRecord(number, { startMs: 0 })));
    const before = range(1_000).map((number) => lineOf(taskRecord(number)));
    writeFileSync(path, old.concat(before).join(''));
    const nodes = range(3).map(newHistory);
    const notes = range(30).map((number) => nodes[number % 3]?.note(place, taskRecord(1_000 + number)));
    await Promise.all(notes);
    const runs = keptRuns();
    assert.deepEqual([new Set(runs).size, runs.length], [1_030, 1_030]);
    assert.equal(existsSync(`${path}.new`), false);
  });

  it('removes old records again after a node was killed while it removed some', async () => {
    writeFileSync(path, lineOf(taskRecord(0, { startMs: 0 })));
    writeFileSync(`${path}.new`, '');
    utimesSync(`${path}.new`, 0, nowMs / 1_000 - 3_600);
    await history.note(place, taskRecord(1));
    await history.note(place, taskRecord(2));
    assert.equal(readFileSync(path, 'utf8'), [1, 2].map((number) => lineOf(taskRecord(number))).join(''));
  });

  it('keeps the newer half of a file that is too large, in whole lines', async () => {
    const lines = range(60).map((number) => lineOf(taskRecord(number, { about: 'é'.repeat(50_000) })));
    writeFileSync(path, lines.join(''));
    await history.note(place, taskRecord(60));
    const fitting = Math.floor((2.5 * mib) / Buffer.byteLength(lines[0] as string));
    assert.deepEqual(
      keptRuns(),
      range(61)
        .slice(60 - fitting)
        .map((number) => `run ${number}`),
    );
  });
});
