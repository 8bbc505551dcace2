// Checks of `divan doctor` about Node, the system and its limits.
import { existsSync, readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import { dirname, join } from 'node:path';
import { sizeText } from '../terminal.ts';
import { type Finding, good, warning } from './finding.ts';

const openFilesAdvised = 4_096;
const freeBytesAdvised = 512 << 20;

export function checkSystem(): Finding[] {
  return [checkNode(), checkPlatform(), checkHandles(), checkMemory()];
}

function checkNode(): Finding {
  // The launcher refuses an older Node before it loads this file.
  return good('node', `Node ${process.version} at ${process.execPath}; 24 or newer is needed`);
}

function checkPlatform(): Finding {
  const text = `${process.platform} on ${process.arch}`;
  if (process.platform === 'linux') return good('system', text);
  return warning(
    'system',
    text,
    'Divan is tested on Linux only; for production, run it in a Linux container',
  );
}

function checkHandles(): Finding {
  const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(systemText('/proc/self/limits')) ?? [];
  if (soft === undefined) return good('open files', 'this system does not say how many are allowed');
  const limit = soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  if (limit >= openFilesAdvised) return good('open files', `${soft} are allowed`);
  return warning(
    'open files',
    `only ${soft} are allowed: connections and files share them`,
    'raise the limit: ulimit -n 65536, in systemd LimitNOFILE=65536, in Docker --ulimit nofile=65536',
  );
}

/** The memory that a process can get: that of the machine, or less in a container. */
function checkMemory(): Finding {
  const available = Number(/^MemAvailable:\s+(\d+) kB/m.exec(systemText('/proc/meminfo'))?.[1]) * 1_024;
  const free = Math.min(Number.isNaN(available) ? freemem() : available, containerFreeBytes('/'));
  if (free >= freeBytesAdvised) return good('memory', `${sizeText(free)} are available`);
  return warning(
    'memory',
    `only ${sizeText(free)} are available; a node needs about 150 MB and the quotas of its buckets`,
    'end other processes, raise the limit of the container, or give the node less: --memory-quota MB',
  );
}

/**
 * The memory that the control group of this process and all groups around it may still get; infinity without a limit. `root` is the root of the
 * file system, except in tests.
 */
export function containerFreeBytes(root: string): number {
  const group = /^0::(\/.*)$/m.exec(systemText(join(root, 'proc/self/cgroup')))?.[1] ?? '/';
  const freeBytes = groupsAround(group).map((path) => {
    const textOf = (name: string): string => systemText(join(root, 'sys/fs/cgroup', path, `memory.${name}`));
    return freeBytesInGroup({ max: textOf('max'), current: textOf('current'), stat: textOf('stat') });
  });
  return Math.min(...freeBytes);
}

/** The group and those around it: `/a/b`, `/a` and `/`. */
const groupsAround = (group: string): string[] =>
  group === '/' ? ['/'] : [group, ...groupsAround(dirname(group))];

/**
 * The bytes that a control group may still get, by the texts of its files `memory.max`, `memory.current` and `memory.stat`. Inactive pages of
 * the file cache count as free: the system releases them when memory is needed.
 */
export function freeBytesInGroup({
  max,
  current,
  stat,
}: Readonly<Record<'max' | 'current' | 'stat', string>>) {
  const limit = Number(max.trim() || 'max');
  const cached = Number(/^inactive_file (\d+)$/m.exec(stat)?.[1] ?? 0);
  const used = Math.max(0, Number(current.trim()) - cached);
  return Number.isFinite(limit) && Number.isFinite(used)
    ? Math.max(0, limit - used)
    : Number.POSITIVE_INFINITY;
}

function systemText(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  } catch {
    return '';
  }
}
