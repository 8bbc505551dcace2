import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuMeter, type CpuTimes } from './cpu.adapter.ts';

const startTimes: CpuTimes = { total: 1000, idle: 900, user: 50, system: 30, irq: 10, stolen: 10 };
const endTimes: CpuTimes = { total: 2000, idle: 1600, user: 170, system: 110, irq: 60, stolen: 60 };

function aMeter(
  group: { cores: number; usedSeconds: number; userSeconds: number; systemSeconds: number } | null,
) {
  const machine = { nowMs: 0, times: startTimes };
  const meter = new CpuMeter(
    () => machine.nowMs,
    group,
    () => machine.times,
  );
  return { machine, meter };
}

const host = { utilization: 30, user: 12, system: 8 };

test('the processor meter reports the processor shares of programs, the system, interrupts and the hypervisor', () => {
  const { machine, meter } = aMeter(null);
  machine.nowMs = 500;
  machine.times = endTimes;
  const none = { utilization: 0, user: 0, system: 0, irq: 0, stolen: 0 };
  assert.deepEqual(meter.shares(null), { ...none, host: { utilization: 0, user: 0, system: 0 } });
  machine.nowMs = 10_000;
  assert.deepEqual(meter.shares(null), { ...host, irq: 5, stolen: 5, host });
});

test('the processor meter measures a container relative to its quota, and also its host', () => {
  const { machine, meter } = aMeter({ cores: 0.5, usedSeconds: 3, userSeconds: 2, systemSeconds: 1 });
  machine.nowMs = 10_000;
  machine.times = endTimes;
  const shares = meter.shares({ cores: 0.5, usedSeconds: 7, userSeconds: 5, systemSeconds: 2 });
  assert.deepEqual(shares, { utilization: 80, user: 60, system: 20, irq: 5, stolen: 5, host });
});
