import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Cgroup, type CgroupFigures } from './cgroup.adapter.ts';

function figuresOf(files: Record<string, string>): CgroupFigures {
  const root = mkdtempSync(join(tmpdir(), 'cgroup-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const figures = new Cgroup(root).figures();
  rmSync(root, { recursive: true });
  return figures;
}

test('the control group reader reads version 2, in which the lowest limit of all ancestors applies', () => {
  const group = 'sys/fs/cgroup/outer/inner';
  const figures = figuresOf({
    'proc/self/cgroup': '0::/outer/inner\n',
    [`${group}/memory.max`]: 'max\n',
    [`${group}/cpu.max`]: '150000 100000\n',
    [`${group}/cpu.stat`]: 'usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n',
    'sys/fs/cgroup/outer/memory.max': '1000000\n',
    'sys/fs/cgroup/outer/memory.current': '700000\n',
    'sys/fs/cgroup/outer/memory.stat': 'anon 5\ninactive_file 100000\n',
    'sys/fs/cgroup/outer/cpu.max': 'max 100000\n',
  });
  assert.deepEqual(figures, {
    memory: { limit: 1_000_000, used: 600_000 },
    cpu: { cores: 1.5, usedSeconds: 2.5, userSeconds: 2, systemSeconds: 0.5 },
  });
});

test('the control group reader counts the memory that an outer group of a higher limit has left, if that is less', () => {
  const { memory } = figuresOf({
    'proc/self/cgroup': '0::/outer/inner\n',
    'sys/fs/cgroup/outer/inner/memory.max': '1000000\n',
    'sys/fs/cgroup/outer/inner/memory.current': '100000\n',
    'sys/fs/cgroup/outer/memory.max': '2000000\n',
    'sys/fs/cgroup/outer/memory.current': '1900000\n',
    'sys/fs/cgroup/outer/memory.stat': 'inactive_file 50000\n',
  });
  assert.deepEqual(memory, { limit: 1_000_000, used: 850_000 });
});

test('the control group reader reads version 1, in a container that sees its own group as the root', () => {
  const figures = figuresOf({
    'proc/self/cgroup': '5:memory:/docker/0123\n4:cpu,cpuacct:/docker/0123\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': '2000000\n',
    'sys/fs/cgroup/memory/memory.usage_in_bytes': '500000\n',
    'sys/fs/cgroup/memory/memory.stat': 'inactive_file 1\ntotal_inactive_file 100000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '50000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpuacct.usage': '3000000000\n',
    'sys/fs/cgroup/cpu,cpuacct/cpuacct.stat': 'user 210\nsystem 90\n',
  });
  assert.deepEqual(figures, {
    memory: { limit: 2_000_000, used: 400_000 },
    cpu: { cores: 0.5, usedSeconds: 3, userSeconds: 2.1, systemSeconds: 0.9 },
  });
});

test('the control group reader reports no limits if there are none', () => {
  const none = { memory: null, cpu: null };
  assert.deepEqual(figuresOf({}), none);
  assert.deepEqual(
    figuresOf({ 'proc/self/cgroup': '0::/\n', 'sys/fs/cgroup/cpu.max': 'max 100000\n' }),
    none,
  );
  const unlimited = '9223372036854771712\n';
  const old = {
    'proc/self/cgroup': '5:memory:/\n4:cpu,cpuacct:/\n',
    'sys/fs/cgroup/memory/memory.limit_in_bytes': unlimited,
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n',
    'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
  };
  assert.deepEqual(figuresOf(old), none);
});
