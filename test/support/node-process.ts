// Starts a node process on free ports and a new data folder, and stops it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NodeAddresses } from '../../src/main/ready.ts';
import { freePort } from './free-port.ts';
import { endAfterTests } from './left-running.ts';

/** The content of the ready file (docs/reference/command-line.md). */
export interface Ready {
  /** The process to signal. */
  pid?: number;
  node: NodeAddresses;
  username?: string;
  password?: string;
}

export interface NodeSettings {
  /** The launcher; by default that of the checkout. */
  launcher?: string;
  /** Further flags: `['--bucket', 'b']`. */
  args?: string[];
  /** An existing folder; it is kept afterwards. */
  dataDir?: string;
  /** Starts the node without credentials, so that it is not provisioned. */
  unprovisioned?: boolean;
  environment?: Record<string, string>;
  /** The administrator's password. */
  password?: string;
  /** Ports by name (`rest`, `kv-tls`); the others are free ones. */
  ports?: Readonly<Record<string, number>>;
  /** Arguments before the command: `['ip', 'netns', 'exec', 'machine']`. */
  within?: readonly string[];
  /** The node's limit of file handles. */
  handles?: number;
  /** The time in which the node must be ready; default two minutes. */
  startMs?: number;
}

export const administrator = { username: 'Administrator', password: 'password' };
export const launcher = fileURLToPath(new URL('../../bin/divan.js', import.meta.url));
const portNames = [
  'rest',
  'rest-tls',
  'kv',
  'kv-tls',
  'capi',
  'capi-tls',
  'dist',
  'dist-tls',
  'replication',
  'query',
  'query-tls',
  'index',
  'index-tls',
  'backup',
  'backup-tls',
];
export const portFlagsOf = (ports: Readonly<Record<string, number>>): string[] =>
  portNames.flatMap((name) => [`--${name}-port`, String(ports[name] ?? 0)]);
export const portFlags = portFlagsOf({});
async function portsOfNode(): Promise<Record<string, number>> {
  const ports: Record<string, number> = {};
  for (const name of portNames) ports[name] = await freePort();
  return ports;
}
const startTimeoutMs = 120_000;
/** The end of the output that is kept. */
const outputCharactersMax = 1_000_000;

export class NodeProcess {
  readonly dataDir: string;
  readonly ready: Ready;
  private readonly child: ChildProcess;
  private readonly keepsData: boolean;
  private readonly printed: { text: string };

  private constructor(
    child: ChildProcess,
    dataDir: string,
    keepsData: boolean,
    printed: { text: string },
    ready: Ready,
  ) {
    this.child = child;
    this.dataDir = dataDir;
    this.keepsData = keepsData;
    this.printed = printed;
    this.ready = ready;
  }

  static async start(settings: NodeSettings = {}): Promise<NodeProcess> {
    const dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'divan-test-'));
    const readyFile = join(dataDir, `ready-${process.hrtime.bigint()}.json`);
    const ports = { ...(await portsOfNode()), ...settings.ports };
    const { child, printed } = launch(dataDir, readyFile, { ...settings, ports });
    const ready = await whenReady(child, readyFile, printed, settings.startMs);
    rmSync(readyFile);
    return new NodeProcess(child, dataDir, settings.dataDir !== undefined, printed, ready);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** The output of the node so far; of a long one, its end. */
  get output(): string {
    return this.printed.text;
  }

  get running(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends the signal and waits for the end; returns the exit code, null when the signal killed it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.running) {
      const ended = once(this.child, 'exit');
      this.child.kill(signal);
      await ended;
    }
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL');
    if (!this.keepsData) rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** A request to the REST API as the administrator; a form when `fields` are given. */
  request(path: string, method = 'GET', fields?: Record<string, string>): Promise<Response> {
    const { username, password } = administrator;
    return fetch(`${this.ready.node.rest}${path}`, {
      method,
      headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
      ...(fields && { body: new URLSearchParams(fields) }),
    });
  }
}

function launch(dataDir: string, readyFile: string, settings: NodeSettings) {
  const { username, password } = { ...administrator, ...settings };
  const credentials = settings.unprovisioned ? [] : ['--username', username, '--password', password];
  const args = [
    'node',
    '--data-dir',
    dataDir,
    '--ready-file',
    readyFile,
    ...portFlagsOf(settings.ports ?? {}),
    ...credentials,
  ];
  const path = settings.launcher ?? launcher;
  const command = [process.execPath, path, ...args, ...(settings.args ?? [])];
  const limited = ['/bin/sh', '-c', `ulimit -n ${settings.handles} && exec "$0" "$@"`, ...command];
  const [program, ...rest] = [
    ...(settings.within ?? []),
    ...(settings.handles === undefined ? command : limited),
  ];
  const child = spawn(program as string, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...settings.environment },
  });
  endAfterTests(child);
  return { child, printed: printedBy(child) };
}

/** The output of a process so far; of a long one, its end. */
export function printedBy(child: ChildProcess): { readonly text: string } {
  const printed = { text: '' };
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      printed.text = (printed.text + chunk.toString()).slice(-outputCharactersMax);
    });
  return printed;
}

async function whenReady(
  child: ChildProcess,
  readyFile: string,
  printed: { text: string },
  startMs = startTimeoutMs,
): Promise<Ready> {
  const deadline = performance.now() + startMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the node ended with ${child.exitCode ?? child.signalCode}: ${printed.text}`);
    try {
      return JSON.parse(readFileSync(readyFile, 'utf8')) as Ready;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  child.kill('SIGKILL');
  throw new Error(`the node was not ready in ${startMs} ms: ${printed.text}`);
}

/** Retries until `attempt` returns without throwing. The limit ends only what hangs: a busy machine can be many times slower. */
export const eventually = <T>(attempt: () => T | Promise<T>): Promise<T> =>
  eventuallyWithin(120_000, attempt);

export async function eventuallyWithin<T>(timeoutMs: number, attempt: () => T | Promise<T>): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const waitedMs = performance.now() - startedMs;
      if (waitedMs > timeoutMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs(waitedMs)));
    }
  }
}

/** A tenth of the time waited so far: frequent attempts would take processor time that the other processes need. */
export const pauseMs = (waitedMs: number): number => Math.min(Math.max(waitedMs / 10, 20), 150);
