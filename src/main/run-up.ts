// `divan up`: runs a node in this process, and further nodes and the cloud in child processes. Over its channel a child process reports that it is
// ready; it stops when the channel closes for any reason.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { isNatsText } from '#replog/nats/nats-servers.ts';
import { environmentWithoutOptions, launcher, stopChild } from './child-process.ts';
import { CompanionNodes } from './companion-nodes.ts';
import { environmentName, UsageError } from './options.ts';
import type { ReadyFile } from './ready.ts';
import { type Companion, runNode } from './run-node.ts';
import type { Shutdown } from './signals.ts';
import { StartError } from './start-error.ts';
import type { UpOptions } from './up-options.ts';

type CloudReady = NonNullable<ReadyFile['cloud']>;

export async function runUp(options: UpOptions, shutdown: Shutdown): Promise<void> {
  if (options.nodes > 1 && options['node-name'] !== undefined)
    throw new UsageError('--node-name is for one node: leave it out with --nodes');
  if (options.nodes > 1 && isNatsText(options.engine))
    throw new UsageError('--nodes needs --engine embedded or --engine nats');
  const cloud = options['no-cloud'] ? null : new CompanionCloud(options);
  const companion =
    options.nodes === 1 ? cloud : new CompanionNodesAndCloud(new CompanionNodes(options), cloud);
  await runNode(options, { makePassword: true, companion, shutdown });
}

/** Further nodes, and the cloud. */
class CompanionNodesAndCloud implements Companion {
  readonly #nodes: CompanionNodes;
  readonly #cloud: CompanionCloud | null;

  constructor(nodes: CompanionNodes, cloud: CompanionCloud | null) {
    this.#nodes = nodes;
    this.#cloud = cloud;
  }

  async start(onLost: (reason: Error) => void, first: ReadyFile): Promise<CloudReady | null> {
    await this.#nodes.start(first);
    return this.#cloud === null ? null : this.#cloud.start(onLost);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#nodes.stop(), this.#cloud?.stop()]);
  }
}

class CompanionCloud implements Companion {
  private readonly options: UpOptions;
  private child: ChildProcess | null = null;
  private isStopping = false;

  constructor(options: UpOptions) {
    this.options = options;
  }

  async start(onLost: (reason: Error) => void): Promise<CloudReady> {
    const child = spawn(process.execPath, [launcher, 'cloud', ...argumentsFor(this.options)], {
      // Not in the terminal's process group: this process stops the child after Ctrl-C.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...environmentWithoutOptions(), ...secretsFor(this.options) },
    });
    this.child = child;
    const ready = await untilReady(child);
    child.on('exit', (code, signal) => {
      if (!this.isStopping) onLost(new Error(`the cloud ended with ${signal ?? code}`));
    });
    return ready;
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    if (this.child !== null) await stopChild(this.child);
  }
}

function argumentsFor(options: UpOptions): string[] {
  const given = {
    'data-dir': join(options['data-dir'], 'cloud'),
    host: options.host,
    port: options['cloud-port'],
    'size-scale': options['size-scale'],
    'rate-limit': options['rate-limit'],
    'log-level': options['log-level'],
    capacity: options.capacity,
    config: options.config,
  };
  return Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  );
}

/** The database address may hold a password, and every user of the machine can read arguments. */
const secretsFor = ({ database }: UpOptions): NodeJS.ProcessEnv =>
  database === undefined ? {} : { [environmentName('database')]: database };

async function untilReady(child: ChildProcess): Promise<CloudReady> {
  const { promise, resolve, reject } = Promise.withResolvers<CloudReady>();
  const refuse = (): void =>
    reject(
      new StartError(
        'the cloud did not start: choose another port with --cloud-port, or start the node alone with --no-cloud',
      ),
    );
  child.once('message', (message) => resolve((message as { cloud: CloudReady }).cloud));
  child.once('exit', refuse);
  child.once('error', refuse);
  try {
    return await promise;
  } finally {
    child.off('exit', refuse);
  }
}
