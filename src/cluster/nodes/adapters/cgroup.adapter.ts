// Limits and usage of this process's container, from the control groups of Linux (kernel.org, cgroup-v2 and cgroup-v1).
// Figures are null on other systems and without a limit.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface CgroupFigures {
  /** Bytes that the group may use, and bytes in use that cannot be reclaimed at once. */
  memory: { limit: number; used: number } | null;
  /** Cores that the group may use, and the processor seconds that its programs, and the system for them, have used. */
  cpu: { cores: number; usedSeconds: number; userSeconds: number; systemSeconds: number } | null;
}

/** In version 1 groups without a limit report a number near 2^63. */
const unlimitedBytes = 2 ** 60;
/** Ticks of the clock that Linux shows to programs. */
const ticksPerSecond = 100;

interface Group {
  /** From the group of this process up to the highest visible one. */
  folders: string[];
  files: typeof version1 | typeof version2;
}

const version2 = {
  limit: 'memory.max',
  used: 'memory.current',
  inactive: /^inactive_file (\d+)/m,
  quota: (folder: string) => pair(read(join(folder, 'cpu.max'))),
  seconds: (folder: string) => {
    const text = read(join(folder, 'cpu.stat'));
    const of = (name: string) => numberAfter(name, text) / 1e6;
    const usedSeconds = text === '' ? Number.NaN : of('usage_usec');
    return { usedSeconds, userSeconds: of('user_usec'), systemSeconds: of('system_usec') };
  },
};
const version1 = {
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  inactive: /^total_inactive_file (\d+)/m,
  quota: (folder: string) =>
    pair(`${read(join(folder, 'cpu.cfs_quota_us'))} ${read(join(folder, 'cpu.cfs_period_us'))}`),
  seconds: (folder: string) => {
    const text = read(join(folder, 'cpuacct.stat'));
    const of = (name: string) => numberAfter(name, text) / ticksPerSecond;
    const usedSeconds = Number(read(join(folder, 'cpuacct.usage')) || Number.NaN) / 1e9;
    return { usedSeconds, userSeconds: of('user'), systemSeconds: of('system') };
  },
};

/** `root` is the file system's root, except in tests. */
export class Cgroup {
  readonly #memory: Group | null;
  readonly #cpu: Group | null;

  constructor(root = '/') {
    this.#memory = groupOf(root, 'memory');
    this.#cpu = groupOf(root, 'cpu');
  }

  figures(): CgroupFigures {
    return { memory: this.#memory && memoryOf(this.#memory), cpu: this.#cpu && cpuOf(this.#cpu) };
  }
}

/** The lowest limit of all ancestors, and what remains of the one that has the least left: another group may have used up more of its own. */
function memoryOf({ folders, files }: Group): CgroupFigures['memory'] {
  let [least, free] = [Infinity, Infinity];
  for (const folder of folders) {
    const limit = Number.parseInt(read(join(folder, files.limit)), 10);
    if (!(limit > 0 && limit < unlimitedBytes)) continue;
    const used = Number.parseInt(read(join(folder, files.used)), 10) || 0;
    const inactive = Number(files.inactive.exec(read(join(folder, 'memory.stat')))?.[1] ?? 0);
    least = Math.min(least, limit);
    free = Math.min(free, Math.max(limit - Math.max(used - inactive, 0), 0));
  }
  return least === Infinity ? null : { limit: least, used: least - free };
}

function cpuOf({ folders, files }: Group): CgroupFigures['cpu'] {
  const quotas = folders.flatMap((folder) => {
    const quota = files.quota(folder);
    return quota && quota[0] > 0 && quota[1] > 0 ? [{ folder, cores: quota[0] / quota[1] }] : [];
  });
  const [tightest] = quotas.sort((a, b) => a.cores - b.cores);
  if (!tightest) return null;
  const seconds = files.seconds(tightest.folder);
  return Number.isNaN(seconds.usedSeconds) ? null : { cores: tightest.cores, ...seconds };
}

/** Lines of `/proc/self/cgroup` are `number:controllers:path`. Only lines of version 1 name controllers. */
function groupOf(root: string, controller: string): Group | null {
  const lines = [...read(join(root, 'proc/self/cgroup')).matchAll(/^\d+:([^:]*):(.*)$/gm)];
  const version1Line = lines.find(([, controllers]) => controllers?.split(',').includes(controller));
  const [mount, path, files] = version1Line
    ? ([join(root, 'sys/fs/cgroup', version1Line[1] as string), version1Line[2] as string, version1] as const)
    : ([join(root, 'sys/fs/cgroup'), lines.find(([, none]) => none === '')?.[2] ?? '', version2] as const);
  return lines.length > 0 ? { folders: upwards(mount, path), files } : null;
}

/** In a container the path may be the host's: then only the mount itself exists. */
function upwards(mount: string, path: string): string[] {
  const folders: string[] = [];
  for (let at = path; at !== '/' && at !== '.' && at !== ''; at = dirname(at)) folders.push(join(mount, at));
  return [...folders, mount];
}

const numberAfter = (name: string, text: string): number =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);

function pair(text: string): [number, number] | null {
  const [first, second] = text.trim().split(/\s+/).map(Number);
  return first === undefined || second === undefined || Number.isNaN(first + second) ? null : [first, second];
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // not Linux, or not mounted
  }
}
