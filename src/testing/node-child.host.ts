// The child process of a throw-away node: its command line, its channel and its folder. The child ends when the channel closes, so it ends
// with this process even after a crash. The child deletes its folder itself if `stop` was not called.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { throwAwayPrefix } from '#base/throw-away.ts';
import { realClock } from '#ports/clock.ts';
import { packageRoot } from '#ports/code-place.ts';
import type { TestNodeAddresses } from './types.ts';

const launcher = fileURLToPath(new URL('bin/divan.js', packageRoot));
const stopTimeoutMs = 30_000;
/** The limit of the error output that is kept, in characters. */
const outputMax = 10_000;
const removedVariables = new Set([
  'NODE_OPTIONS',
  'NODE_V8_COVERAGE',
  'NODE_TEST_CONTEXT',
  'NODE_CHANNEL_FD',
]);

export interface NodeChildOptions {
  /** Options of `divan node`. */
  flags: readonly string[];
  /** Options that are passed by the environment: every user of the machine can read arguments. */
  secrets: Readonly<Record<string, string>>;
  /** The content of the init file. */
  plan: object;
  startMs: number;
}

export class NodeChild {
  readonly addresses: TestNodeAddresses;
  private readonly child: ChildProcess;
  private readonly folder: string;

  private constructor(child: ChildProcess, folder: string, addresses: TestNodeAddresses) {
    this.child = child;
    this.folder = folder;
    this.addresses = addresses;
  }

  /** @throws Error with the node's message if it does not become ready; then no process is left */
  static async start(options: NodeChildOptions): Promise<NodeChild> {
    const folder = mkdtempSync(join(tmpdir(), throwAwayPrefix));
    try {
      const child = launch(folder, options);
      const addresses = await whenReady(child, options.startMs);
      detach(child);
      return new NodeChild(child, folder, addresses);
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get hasEnded(): boolean {
    return hasExited(this.child);
  }

  async stop(): Promise<void> {
    await end(this.child);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function launch(folder: string, { flags, secrets, plan }: NodeChildOptions): ChildProcess {
  const init = join(folder, 'init.json');
  writeFileSync(init, JSON.stringify(plan), { mode: 0o600 });
  const folders = ['--data-dir', join(folder, 'data'), '--init', init];
  const child = spawn(process.execPath, [launcher, 'node', ...folders, ...flags], {
    // A signal to the group of this process, such as Ctrl-C, must not end it before the tests that use it.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...environmentOfNode(), ...secrets },
  });
  child.send({ throwAway: folder }, () => {}); // fails if the child has ended: its output has the reason
  return child;
}

/** The environment of this process without options of nodes, and without variables that would slow a node down or stop it. */
function environmentOfNode(): NodeJS.ProcessEnv {
  const variables = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('DIVAN_') && !removedVariables.has(name),
  );
  return Object.fromEntries(variables);
}

async function whenReady(child: ChildProcess, startMs: number): Promise<TestNodeAddresses> {
  let errorOutput = '';
  child.stderr?.on(
    'data',
    (chunk: Buffer) => (errorOutput = (errorOutput + chunk.toString()).slice(-outputMax)),
  );
  const { promise, resolve, reject } = Promise.withResolvers<TestNodeAddresses>();
  child.once('message', (message) => resolve((message as { node: TestNodeAddresses }).node));
  child.once('error', reject);
  // At `close` all output of the child has been read.
  child.once('close', () => reject(new Error(problemIn(errorOutput))));
  const timeout = realClock.after(startMs, () =>
    reject(new Error(`startNode: startMs: the node was not ready in ${startMs} ms. ${errorOutput}`.trim())),
  );
  try {
    return await promise;
  } catch (error) {
    child.kill('SIGKILL');
    if (child.pid !== undefined && !hasExited(child)) await once(child, 'exit');
    throw error;
  } finally {
    timeout.cancel();
  }
}

/** The node does not keep this process alive. */
function detach(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
  (child.stderr as { unref?(): void } | null)?.unref?.();
}

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function end(child: ChildProcess): Promise<void> {
  if (hasExited(child)) return;
  child.ref();
  const exit = once(child, 'exit');
  if (child.connected) child.disconnect();
  const timeout = realClock.after(stopTimeoutMs, () => child.kill('SIGKILL'));
  await exit;
  timeout.cancel();
}

/** The node's own message, with the options of startNode() in place of those of the command. */
function problemIn(errorOutput: string): string {
  const lines = errorOutput.split('\n').filter((line) => line !== '' && !line.startsWith('See divan '));
  const text = lines.map((line) => line.replace(/^divan: /, '')).join('\n');
  return `startNode: ${asOptions(text) || 'the node ended during its start'}`;
}

const asOptions = (text: string): string =>
  text
    .replace(/--init: \S*init\.json: /g, '')
    .replace('--memory-quota', 'memoryQuotaMB')
    .replace(/--(\w+)(-tls)?-port\b/g, (_, name: string, tls?: string) => `ports.${name}${tls ? 'Tls' : ''}`)
    .replace(/--(username|password|services|edition|host)\b/g, '$1');
