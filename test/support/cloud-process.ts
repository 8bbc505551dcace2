// Starts a cloud process on a free port and a new data folder, and stops it with all its nodes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudDescription, type CloudDocument } from './cloud-description.ts';
import { endAfterTests } from './left-running.ts';
import { eventually, launcher as launcherOfCheckout, printedBy } from './node-process.ts';

export interface CloudReady {
  api: string;
  token: string;
  accessKey: string;
  secretKey: string;
}

export interface CloudSettings {
  /** The launcher; by default that of the checkout. */
  launcher?: string;
  args?: string[];
  /** Added to the environment of the tests. */
  environment?: Record<string, string>;
  /** An existing folder; it is kept afterwards, and its nodes keep running. */
  dataDir?: string;
  /** A file for standard error. */
  logTo?: string;
  /** Default: a free one. */
  port?: number;
  /** Default: a file in the data folder. */
  readyFile?: string;
}

/** A reply of the API. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read any reply
  body: any;
}

const startTimeoutMs = 120_000;

export class CloudProcess {
  readonly dataDir: string;
  /** The flags other than folder and port. */
  readonly args: string[];
  readonly ready: CloudReady;
  private readonly child: ChildProcess;
  private readonly keepsData: boolean;
  private readonly printed: { text: string };

  private constructor(
    child: ChildProcess,
    printed: { text: string },
    {
      dataDir,
      args,
      keepsData,
      ready,
    }: { dataDir: string; args: string[]; keepsData: boolean; ready: CloudReady },
  ) {
    this.child = child;
    this.printed = printed;
    this.dataDir = dataDir;
    this.args = args;
    this.keepsData = keepsData;
    this.ready = ready;
  }

  static async start(settings: CloudSettings = {}): Promise<CloudProcess> {
    const dataDir = settings.dataDir ?? mkdtempSync(join(tmpdir(), 'divan-cloud-'));
    const readyFile = settings.readyFile ?? join(dataDir, `ready-${process.hrtime.bigint()}.json`);
    const port = String(settings.port ?? 0);
    const args = ['cloud', '--data-dir', dataDir, '--port', port, '--ready-file', readyFile];
    const launcher = settings.launcher ?? launcherOfCheckout;
    const log = settings.logTo === undefined ? 'pipe' : openSync(settings.logTo, 'a');
    const child = spawn(process.execPath, [launcher, ...args, ...(settings.args ?? [])], {
      stdio: ['ignore', 'pipe', log],
      env: { ...process.env, ...settings.environment },
    });
    if (log !== 'pipe') closeSync(log);
    endAfterTests(child);
    const printed = printedBy(child);
    const ready = await whenReady(child, readyFile, printed);
    rmSync(readyFile);
    return new CloudProcess(child, printed, {
      dataDir,
      args: settings.args ?? [],
      keepsData: settings.dataDir !== undefined,
      ready,
    });
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** The output of the cloud so far; of a long one, its end. */
  get output(): string {
    return this.printed.text;
  }

  /** The process ids of nodes, from their data folders. */
  nodePids(): number[] {
    return nodePids(this.dataDir);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill(signal);
      await ended;
    }
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop('SIGKILL');
    if (this.keepsData) return;
    endNodes(this.dataDir);
    await eventually(() => rmSync(this.dataDir, { recursive: true, force: true }));
  }

  /**
   * Sends a request with the start token or `token`, and the body as JSON. Throws when the reply does not match the
   * description of the API.
   */
  async request(method: string, path: string, body?: unknown, token = this.ready.token): Promise<Answer> {
    const response = await fetch(new URL(path, this.ready.api), {
      method,
      headers: {
        ...(token !== '' && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    (await this.description()).check(method, path, answer);
    return answer;
  }

  /** Every cloud has the same description: only the first calls request it. */
  async description(): Promise<CloudDescription> {
    if (described === undefined) {
      const response = await fetch(new URL('/openapi.json', this.ready.api));
      described = new CloudDescription((await response.json()) as CloudDocument);
    }
    return described;
  }
}

let described: CloudDescription | undefined;

/** Kills the nodes of a cloud, including those that have not locked their data folders yet. */
export function endNodes(dataDir: string): void {
  const started = pidsIn(dataDir, 'process.json', (text) => (JSON.parse(text) as { pid: number }).pid);
  for (const pid of new Set([...nodePids(dataDir), ...started])) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // the process has ended
    }
  }
}

const nodePids = (dataDir: string): number[] => pidsIn(dataDir, 'lock.pid', Number);

function pidsIn(dataDir: string, file: string, pidOf: (text: string) => number): number[] {
  const folder = join(dataDir, 'nodes');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((node) => join(folder, node, file))
    .filter((path) => existsSync(path))
    .map((path) => pidOf(readFileSync(path, 'utf8')))
    .filter((pid) => pid > 0 && isRunning(pid));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function whenReady(
  child: ChildProcess,
  readyFile: string,
  printed: { text: string },
): Promise<CloudReady> {
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the cloud ended with ${child.exitCode ?? child.signalCode}: ${printed.text}`);
    if (existsSync(readyFile))
      return (JSON.parse(readFileSync(readyFile, 'utf8')) as { cloud: CloudReady }).cloud;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  child.kill('SIGKILL');
  throw new Error(`the cloud was not ready in ${startTimeoutMs} ms: ${printed.text}`);
}
