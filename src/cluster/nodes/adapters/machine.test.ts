import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { it } from 'node:test';
import { Machine, memoryLimit } from './machine.adapter.ts';

it('reports plausible figures of this machine', async () => {
  let nowMs = 0;
  const machine = new Machine(tmpdir(), () => nowMs);
  nowMs = 5_000;
  const { memory, cpu, disk } = await machine.figures();
  assert(memory.total > 0 && memory.free > 0 && memory.free <= memory.total);
  assert(memory.limit > 0 && memory.limit <= memory.total);
  assert.equal(memoryLimit(), memory.limit);
  assert(cpu.cores >= 1 && cpu.utilization >= 0 && cpu.utilization <= 100, JSON.stringify(cpu));
  assert(memory.used > 0 && memory.used <= memory.total);
  assert(disk.totalBytes > 0 && disk.usedBytes + disk.freeBytes <= disk.totalBytes);
  assert(tmpdir().startsWith(disk.mountPoint));
  assert.match(machine.os, /^\w+-unknown-\w+$/);
});

it('reads the machine at most four times a second, and shares each reading', async () => {
  let nowMs = 0;
  const machine = new Machine(tmpdir(), () => nowMs);
  const first = machine.figures();
  nowMs = 249;
  assert.equal(machine.figures(), first);
  nowMs = 250;
  assert.notEqual(machine.figures(), first);
  assert((await first).memory.total > 0);
});
