// What a test requires from the machine: without it the test is skipped with the reason; where CI is set it fails, so that no test is
// skipped unnoticed.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { slapd } from './ldap-server.ts';
import { natsServerPath, natsVersionOf, natsVersionPinned } from './nats-binary.ts';
import { installNodeTools, installPythonTools } from './openapi-tools.ts';
import { postgresPrograms } from './postgres.ts';

const headlessChromium = '/usr/bin/chromium-headless-shell';
/** The headless build where it is installed: the other one also draws its own window, which takes as much processor time as a test. */
export const chromium = existsSync(headlessChromium) ? headlessChromium : '/usr/bin/chromium';

const probes: Record<
  | 'python'
  | 'openapi tools'
  | 'mount'
  | 'mkfs.ext4'
  | 'loopback addresses'
  | 'ipv6'
  | 'compiler'
  | 'go'
  | 'chromium'
  | 'namespaces'
  | 'openssl'
  | 'postgresql'
  | 'prometheus'
  | 'slapd'
  | 'systemd'
  | 'nats-server',
  { reason: string; works: () => unknown }
> = {
  mount: {
    reason: 'needs the right to mount (root on Linux)',
    works: () =>
      execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' }),
  },
  'mkfs.ext4': {
    reason: 'needs mkfs.ext4 (e2fsprogs), which is in /usr/sbin on Debian',
    works: () => execFileSync('mkfs.ext4', ['-V'], { stdio: 'ignore' }),
  },
  'loopback addresses': {
    reason: 'needs addresses of this machine beside 127.0.0.1 (Linux)',
    works: () => process.platform === 'linux',
  },
  namespaces: {
    reason: 'needs network namespaces (root on Linux, iproute2)',
    works: () => {
      // Several test files probe at the same time.
      const name = `divan-probe-${process.pid}`;
      execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' });
      execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    },
  },
  ipv6: {
    reason: 'needs an IPv6 address of this machine (::1)',
    works: () =>
      Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1')),
  },
  chromium: {
    reason: `needs Chromium at ${headlessChromium} or ${chromium}`,
    works: () => existsSync(chromium),
  },
  openssl: {
    reason: 'needs the openssl command',
    works: () => execFileSync('openssl', ['version'], { stdio: 'ignore' }),
  },
  prometheus: {
    reason: 'needs Prometheus and promtool, as Debian packages them',
    works: () => {
      for (const program of ['prometheus', 'promtool'])
        execFileSync(program, ['--version'], { stdio: 'ignore' });
    },
  },
  slapd: {
    reason: 'needs the LDAP server slapd, as Debian packages it',
    works: () => existsSync(slapd),
  },
  systemd: {
    reason: 'needs the command systemd-analyze (systemd)',
    works: () => execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' }),
  },
  'nats-server': {
    reason: `needs the NATS server ${natsVersionPinned}: npm run nats-server builds it with Go`,
    works: () => natsVersionOf(natsServerPath) === natsVersionPinned,
  },
  postgresql: {
    reason: 'needs a PostgreSQL server as Debian packages it',
    works: () => postgresPrograms() !== null,
  },
  python: {
    reason: 'needs Python 3 with venv, and its package registry on the first run',
    works: () => installPythonTools(),
  },
  'openapi tools': {
    reason: 'needs the package registry on the first run',
    works: () => installNodeTools(),
  },
  go: {
    reason: 'needs the go command',
    works: () => execFileSync('go', ['version'], { stdio: 'ignore' }),
  },
  compiler: {
    reason: 'needs a C compiler (cc) and Linux',
    works: () => process.platform === 'linux' && execFileSync('cc', ['--version'], { stdio: 'ignore' }),
  },
};

/** For the options of a test: `{ skip: needs('mount') }`. */
export function needs(what: keyof typeof probes): string | false {
  const { reason, works } = probes[what];
  try {
    if (works() !== false) return false;
  } catch {
    // Reported below.
  }
  if (process.env['CI'] === undefined) return reason;
  throw new Error(`no test may be skipped where CI is set, and this one ${reason}`);
}
