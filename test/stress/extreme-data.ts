// Much more data than memory, and tombstones by the million, on real files: every acknowledged document is read back, before and
// after a restart, and memory stays within the quota.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Status } from '#wire/status.ts';
import { Bulk } from '../support/bulk.ts';
import { get, remove, set } from '../support/data-client.ts';
import type { Reply } from '../support/kv-connection.ts';
import { MeasuredService } from '../support/measured-service.ts';
import type { Random } from '../support/random.ts';
import { Turns } from '../support/turns.ts';

export type Policy = 'fullEviction' | 'valueOnly';

export interface Extent {
  policy: Policy;
  quotaBytes: number;
  /** Documents, or tombstones. */
  count: number;
  valueBytes: number;
}

/** Reads may exceed the quota by a twentieth, as may what is being written. */
const slack = 1.1;
const vbOf = (i: number): number => i % 1024;
const nameOf = (i: number): string => `document-${i}`;

/** A multiple of the quota in documents: written, some changed, some deleted, read back in random order, and again after a restart. */
export async function moreThanMemory(extent: Extent, random: Random): Promise<string> {
  const { count, policy, quotaBytes, valueBytes } = extent;
  const documents = new Uint8Array(count).fill(1);
  return await onFolder(extent, async (start, turns) => {
    const report: string[] = [];
    {
      await using service = await start();
      turns.count();
      using bulk = await Bulk.open(service.port, 'admin');
      const write = async (numbers: readonly number[] | null): Promise<void> => {
        const at = (i: number): number => numbers?.[i] ?? i;
        await bulk.run(
          numbers?.length ?? count,
          (i) =>
            set(nameOf(at(i)), textOf(at(i), documents[at(i)] as number, valueBytes), { vb: vbOf(at(i)) }),
          (i, { status }) => assert.equal(status, Status.success, `write of ${at(i)}`),
        );
      };
      const from = performance.now();
      await write(null);
      report.push(`written at ${rate(count, from)}/s`);
      const changed = someOf(count, random, count / 50);
      for (const i of changed) documents[i] = 2;
      await write(changed);
      const deleted = someOf(count, random, count / 50);
      for (const i of deleted) documents[i] = 0;
      await bulk.run(
        deleted.length,
        (i) => remove(nameOf(deleted[i] as number), { vb: vbOf(deleted[i] as number) }),
        (i, { status }) => assert.equal(status, Status.success, `deletion of ${deleted[i]}`),
      );
      report.push(await readAll(bulk, documents, valueBytes, random));
      const { mem, items, evicted } = await figures(service.port);
      assert.equal(items, count - deleted.length);
      assert.ok(evicted > count / 2, `only ${evicted} values are non-resident: memory had room for all`);
      assert.ok(mem <= quotaBytes * slack, `${mem} bytes of ${quotaBytes}`);
      report.push(`${percent(evicted, items)} on disk only, ${megabytes(mem)} in memory`);
      report.push(`${bulk.repeated} temporary failures`);
    }
    turns.pause();
    const from = performance.now();
    await using service = await start();
    report.push(`restarted in ${((performance.now() - from) / 1000).toFixed(1)} s`);
    turns.count();
    using bulk = await Bulk.open(service.port, 'admin');
    await readAll(bulk, documents, valueBytes, random);
    return `${policy}, ${megabytes(count * valueBytes)} in ${megabytes(quotaBytes)}: ${report.join(', ')}`;
  });
}

/** Documents that are all deleted again: the tombstones fit into the quota, no deleted document exists again, and there is room for new ones. */
export async function tombstones(extent: Extent, random: Random): Promise<string> {
  const { count, policy, quotaBytes, valueBytes } = extent;
  return await onFolder(extent, async (start, turns) => {
    const report: string[] = [];
    const documents = new Uint8Array(count);
    {
      await using service = await start();
      turns.count();
      using bulk = await Bulk.open(service.port, 'admin');
      const from = performance.now();
      const ok = (i: number, { status }: Reply): void =>
        assert.equal(status, Status.success, `document ${i}`);
      await bulk.run(count, (i) => set(nameOf(i), textOf(i, 1, valueBytes), { vb: vbOf(i) }), ok);
      await bulk.run(count, (i) => remove(nameOf(i), { vb: vbOf(i) }), ok);
      report.push(`written and deleted at ${rate(2 * count, from)}/s`);
      const { mem, items } = await figures(service.port);
      assert.equal(items, 0);
      assert.ok(mem <= quotaBytes * slack, `${mem} bytes of ${quotaBytes}`);
      report.push(`${megabytes(mem)} in memory`, `${bulk.repeated} temporary failures`);
      await readAll(bulk, documents, valueBytes, random);
    }
    turns.pause();
    const from = performance.now();
    await using service = await start();
    report.push(`restarted in ${((performance.now() - from) / 1000).toFixed(1)} s`);
    turns.count();
    using bulk = await Bulk.open(service.port, 'admin');
    const again = someOf(count, random, count / 20);
    for (const i of again) documents[i] = 1;
    await bulk.run(
      again.length,
      (i) =>
        set(nameOf(again[i] as number), textOf(again[i] as number, 1, valueBytes), {
          vb: vbOf(again[i] as number),
        }),
      (i, { status }) => assert.equal(status, Status.success, `document ${again[i]}`),
    );
    await readAll(bulk, documents, valueBytes, random);
    assert.equal((await figures(service.port)).items, again.length);
    return `${policy}, ${count} tombstones in ${megabytes(quotaBytes)}: ${report.join(', ')}`;
  });
}

/** Runs on a folder of its own, with a service that can be started again. */
async function onFolder(
  { policy, quotaBytes }: Extent,
  act: (start: () => Promise<MeasuredService>, turns: Turns) => Promise<string>,
): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-extreme-'));
  using turns = new Turns();
  const bucket = { dataDir, quotaBytes, evictionPolicy: policy };
  try {
    const report = await act(() => MeasuredService.start(bucket, turns.environment), turns);
    return `${report}; ${turns.describe()}`;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Every document, in random order: its version, 0 for none. */
async function readAll(
  bulk: Bulk,
  documents: Uint8Array,
  valueBytes: number,
  random: Random,
): Promise<string> {
  const order = shuffled(documents.length, random);
  const from = performance.now();
  await bulk.run(
    order.length,
    (i) => get(nameOf(order[i] as number), { vb: vbOf(order[i] as number) }),
    (at, { status, value }) => {
      const i = order[at] as number;
      const version = documents[i] as number;
      if (version === 0) assert.equal(status, Status.keyNotFound, `deleted document ${i}`);
      else
        assert.ok(
          status === Status.success && value.equals(textOf(i, version, valueBytes)),
          `document ${i}: ${status}`,
        );
    },
  );
  return `read back at ${rate(order.length, from)}/s`;
}

function textOf(i: number, version: number, bytes: number): Buffer {
  const text = `{"i":${i},"version":${version},"filler":"`;
  return Buffer.from(`${text.padEnd(bytes - 2, String.fromCharCode(97 + (i % 26)))}"}`);
}

async function figures(port: number): Promise<{ mem: number; items: number; evicted: number }> {
  using bulk = await Bulk.open(port, 'admin', 'b', 1);
  const found = await bulk.stats();
  const statistic = (name: string): number => Number(found.get(name));
  return {
    mem: statistic('mem_used'),
    items: statistic('curr_items'),
    evicted: statistic('ep_num_non_resident'),
  };
}

function shuffled(count: number, random: Random): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = random(i + 1);
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  return order;
}

const someOf = (count: number, random: Random, wanted: number): number[] => [
  ...shuffled(count, random).subarray(0, wanted),
];
const rate = (count: number, fromMs: number): string =>
  ((count / (performance.now() - fromMs)) * 1000).toFixed(0);
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
const percent = (part: number, all: number): string => `${((part / all) * 100).toFixed(0)} %`;
