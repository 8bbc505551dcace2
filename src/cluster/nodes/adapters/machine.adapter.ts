// The machine's figures from the operating system. Other systems provide fewer than Linux; the missing ones are 0.
import { readFileSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { arch, availableParallelism, cpus, freemem, platform, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { DiskFigures, System, SystemFigures } from '../system.ts';
import { Cgroup, type CgroupFigures } from './cgroup.adapter.ts';
import { CpuMeter } from './cpu.adapter.ts';

/** A reading costs half a millisecond, more than the rest of an answer that shows it. */
const readEveryMs = 250;
const architectures: Record<string, string> = { x64: 'x86_64', arm64: 'aarch64' };

export class Machine implements System {
  readonly os = `${architectures[arch()] ?? arch()}-unknown-${platform()}`;
  readonly #dataFolder: string;
  readonly #cgroup = new Cgroup();
  readonly #cpu: CpuMeter;
  readonly #monotonicMs: () => number;
  #mountPoint: string | null = null;
  #reading: { at: number; figures: Promise<SystemFigures> } | null = null;

  constructor(dataFolder: string, monotonicMs: () => number) {
    this.#dataFolder = resolve(dataFolder);
    this.#monotonicMs = monotonicMs;
    this.#cpu = new CpuMeter(monotonicMs, this.#cgroup.figures().cpu);
  }

  /** Not older than a quarter of a second: requests at the same time share a reading. */
  figures(): Promise<SystemFigures> {
    const at = this.#monotonicMs();
    if (this.#reading === null || at - this.#reading.at >= readEveryMs)
      this.#reading = { at, figures: this.#read() };
    return this.#reading.figures;
  }

  async #read(): Promise<SystemFigures> {
    const group = this.#cgroup.figures();
    return {
      memory: memory(group.memory),
      cpu: {
        ...this.#cpu.shares(group.cpu),
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
}

/** Memory that this process may use, in bytes: the container's limit if it is lower than the machine's memory. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** In a container, free memory is the limit minus what is used, up to the machine's free memory. */
function memory(group: CgroupFigures['memory']): SystemFigures['memory'] {
  const meminfo = table('/proc/meminfo');
  const kib = (name: string) => (meminfo.get(name) ?? 0) * 1024;
  const swapTotal = kib('SwapTotal');
  const free = meminfo.has('MemAvailable') ? kib('MemAvailable') : freemem();
  return {
    total: totalmem(),
    free: group ? Math.min(free, Math.max(group.limit - group.used, 0)) : free,
    limit: Math.min(group?.limit ?? Number.POSITIVE_INFINITY, memoryLimit()),
    used: totalmem() - (meminfo.has('MemFree') ? kib('MemFree') : freemem()),
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
  const lines = readOrEmpty(path).matchAll(/^([\w()]+):?\s+(\d+)/gm);
  return new Map([...lines].map(([, name, value]) => [name as string, Number(value)]));
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // not Linux
  }
}

/** The highest ancestor folder on the same device. */
async function mountPointOf(folder: string): Promise<string> {
  const { dev } = await stat(folder);
  let at = folder;
  for (;;) {
    const parent = dirname(at);
    if (parent === at || (await stat(parent)).dev !== dev) return at;
    at = parent;
  }
}
