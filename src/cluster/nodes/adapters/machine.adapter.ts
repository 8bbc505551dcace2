// The machine's figures from the operating system. On Linux more is known than elsewhere; what is not known is 0.
import { readFileSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { arch, availableParallelism, cpus, freemem, platform, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { DiskFigures, System, SystemFigures } from '../system.ts';
import { Cgroup, type CgroupFigures } from './cgroup.adapter.ts';

interface CpuTimes {
  total: number;
  idle: number;
  stolen: number;
}

const cpuStepMs = 1_000;

const architectures: Record<string, string> = { x64: 'x86_64', arm64: 'aarch64' };

export class Machine implements System {
  readonly os = `${architectures[arch()] ?? arch()}-unknown-${platform()}`;
  readonly #dataFolder: string;
  readonly #monotonicMs: () => number;
  #times = readCpuTimes();
  #timesAtMs: number;
  #utilization = { utilization: 0, stolen: 0 };
  #mountPoint: string | null = null;
  readonly #cgroup = new Cgroup();
  #groupSeconds = 0;

  constructor(dataFolder: string, monotonicMs: () => number) {
    this.#dataFolder = resolve(dataFolder);
    this.#monotonicMs = monotonicMs;
    this.#timesAtMs = monotonicMs();
    this.#groupSeconds = this.#cgroup.figures().cpu?.usedSeconds ?? 0;
  }

  async figures(): Promise<SystemFigures> {
    const group = this.#cgroup.figures();
    return {
      memory: memory(group.memory),
      cpu: {
        ...this.#cpu(group.cpu),
        cores: group.cpu?.cores ?? availableParallelism(),
        count: cpus().length,
      },
      allocationStalls: allocationStalls(),
      disk: await this.disk(),
    };
  }

  async disk(): Promise<DiskFigures> {
    this.#mountPoint ??= await mountPointOf(this.#dataFolder);
    const { bsize, blocks, bfree, bavail } = await statfs(this.#dataFolder);
    return {
      mountPoint: this.#mountPoint,
      totalBytes: blocks * bsize,
      usedBytes: (blocks - bfree) * bsize,
      freeBytes: bavail * bsize,
    };
  }

  /** Since the last time somebody asked, but over one step at least: many readers at once see the same figure. */
  #cpu(group: CgroupFigures['cpu']): { utilization: number; stolen: number } {
    const nowMs = this.#monotonicMs();
    const stepSeconds = (nowMs - this.#timesAtMs) / 1000;
    if (stepSeconds * 1000 < cpuStepMs) return this.#utilization;
    const times = readCpuTimes();
    const total = times.total - this.#times.total;
    const share = (part: number) => (total > 0 ? (100 * part) / total : 0);
    this.#utilization = {
      utilization: group
        ? Math.min((100 * (group.usedSeconds - this.#groupSeconds)) / (stepSeconds * group.cores), 100)
        : share(total - (times.idle - this.#times.idle)),
      stolen: share(times.stolen - this.#times.stolen),
    };
    this.#times = times;
    this.#groupSeconds = group?.usedSeconds ?? 0;
    this.#timesAtMs = nowMs;
    return this.#utilization;
  }
}

/** Memory that this process may have, in bytes: the container's limit where that is lower than the machine's. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** What is free to a container is what its limit leaves, if the machine has that much. */
function memory(group: CgroupFigures['memory']): SystemFigures['memory'] {
  const known = table('/proc/meminfo');
  const kib = (name: string) => (known.get(name) ?? 0) * 1024;
  const swapTotal = kib('SwapTotal');
  const free = known.has('MemAvailable') ? kib('MemAvailable') : freemem();
  return {
    total: totalmem(),
    free: group ? Math.min(free, Math.max(group.limit - group.used, 0)) : free,
    limit: Math.min(group?.limit ?? Number.POSITIVE_INFINITY, memoryLimit()),
    swapTotal,
    swapUsed: swapTotal - kib('SwapFree'),
  };
}

function allocationStalls(): number {
  let sum = 0;
  for (const [name, value] of table('/proc/vmstat')) if (name.startsWith('allocstall')) sum += value;
  return sum;
}

/** Lines of a name and a number. */
function table(path: string): Map<string, number> {
  const lines = readIfThere(path).matchAll(/^([\w()]+):?\s+(\d+)/gm);
  return new Map([...lines].map(([, name, value]) => [name as string, Number(value)]));
}

function readCpuTimes(): CpuTimes {
  const line = /^cpu\s+(.+)$/m.exec(readIfThere('/proc/stat'))?.[1];
  if (line === undefined) return portableCpuTimes();
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, stolen = 0] = line
    .split(/\s+/)
    .map(Number);
  const total = user + nice + system + idle + wait + irq + softIrq + stolen;
  return { total, idle: idle + wait, stolen };
}

function portableCpuTimes(): CpuTimes {
  const sums = { total: 0, idle: 0, stolen: 0 };
  for (const { times } of cpus()) {
    sums.total += times.user + times.nice + times.sys + times.idle + times.irq;
    sums.idle += times.idle;
  }
  return sums;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // not Linux
  }
}

/** The highest folder above that is still on the same device. */
async function mountPointOf(folder: string): Promise<string> {
  const { dev } = await stat(folder);
  let at = folder;
  for (;;) {
    const parent = dirname(at);
    if (parent === at || (await stat(parent)).dev !== dev) return at;
    at = parent;
  }
}
