// Processor utilization. If a container's quota limits this process, shares are relative to the quota; those of the host are
// reported beside them.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import type { CpuShares, HostCpuShares } from '../system.ts';
import type { CgroupFigures } from './cgroup.adapter.ts';

/** Processor times since the machine started, all in the same unit. `user` includes programs of low priority, `irq` interrupts of both kinds. */
export interface CpuTimes {
  total: number;
  idle: number;
  user: number;
  system: number;
  irq: number;
  stolen: number;
}

const stepMs = 1_000;
const noShares: CpuShares = {
  utilization: 0,
  user: 0,
  system: 0,
  irq: 0,
  stolen: 0,
  host: { utilization: 0, user: 0, system: 0 },
};

export class CpuMeter {
  readonly #monotonicMs: () => number;
  readonly #readTimes: () => CpuTimes;
  #times: CpuTimes;
  #group: CgroupFigures['cpu'];
  #atMs: number;
  #shares = noShares;

  constructor(monotonicMs: () => number, group: CgroupFigures['cpu'], readTimes = readCpuTimes) {
    this.#monotonicMs = monotonicMs;
    this.#readTimes = readTimes;
    this.#times = readTimes();
    this.#group = group;
    this.#atMs = monotonicMs();
  }

  /** Shares over the time since the last computation, which is repeated after a second at the earliest. */
  shares(group: CgroupFigures['cpu']): CpuShares {
    const nowMs = this.#monotonicMs();
    const passedMs = nowMs - this.#atMs;
    if (passedMs < stepMs) return this.#shares;
    const times = this.#readTimes();
    const { host, ...rest } = sharesOfHost(this.#times, times);
    const shares = group && this.#group ? sharesOfGroup(this.#group, group, passedMs / 1000) : host;
    this.#shares = { ...shares, ...rest, host };
    this.#times = times;
    this.#group = group;
    this.#atMs = nowMs;
    return this.#shares;
  }
}

function sharesOfHost(before: CpuTimes, now: CpuTimes): { host: HostCpuShares; irq: number; stolen: number } {
  const total = now.total - before.total;
  const share = (name: keyof CpuTimes) =>
    total > 0 ? Math.max((100 * (now[name] - before[name])) / total, 0) : 0;
  const utilization = total > 0 ? 100 - share('idle') : 0;
  const host = { utilization, user: share('user'), system: share('system') };
  return { host, irq: share('irq'), stolen: share('stolen') };
}

type GroupCpu = NonNullable<CgroupFigures['cpu']>;

function sharesOfGroup(before: GroupCpu, now: GroupCpu, seconds: number): HostCpuShares {
  const share = (name: 'usedSeconds' | 'userSeconds' | 'systemSeconds') =>
    Math.min((100 * (now[name] - before[name])) / (seconds * now.cores), 100);
  return {
    utilization: share('usedSeconds'),
    user: share('userSeconds'),
    system: share('systemSeconds'),
  };
}

function readCpuTimes(): CpuTimes {
  const line = /^cpu\s+(.+)$/m.exec(readOrEmpty('/proc/stat'))?.[1];
  if (line === undefined) return portableCpuTimes();
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, stolen = 0] = line
    .split(/\s+/)
    .map(Number);
  const total = user + nice + system + idle + wait + irq + softIrq + stolen;
  return { total, idle: idle + wait, user: user + nice, system, irq: irq + softIrq, stolen };
}

function portableCpuTimes(): CpuTimes {
  const sums = { total: 0, idle: 0, user: 0, system: 0, irq: 0, stolen: 0 };
  for (const { times } of cpus()) {
    sums.total += times.user + times.nice + times.sys + times.idle + times.irq;
    sums.idle += times.idle;
    sums.user += times.user + times.nice;
    sums.system += times.sys;
    sums.irq += times.irq;
  }
  return sums;
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // not Linux
  }
}
