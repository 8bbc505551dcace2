// `divan up`: runs a node in this process, and the cloud in a child process. Over their channel the cloud reports
// that it is ready, and stops when the channel closes for any reason.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { realClock } from '#ports/clock.ts';
import { environmentName } from './options.ts';
import type { ReadyFile } from './ready.ts';
import { type Companion, runNode } from './run-node.ts';
import type { Ending } from './signals.ts';
import { StartError } from './start-error.ts';
import type { UpOptions } from './up-options.ts';

type CloudReady = NonNullable<ReadyFile['cloud']>;

const launcher = fileURLToPath(new URL('../../bin/divan.js', import.meta.url));
const stopMs = 30_000;

export async function runUp(options: UpOptions, ending: Ending): Promise<void> {
  const companion = options['no-cloud'] ? null : new CloudBeside(options);
  await runNode(options, { makePassword: true, companion, ending });
}

class CloudBeside implements Companion {
  private readonly options: UpOptions;
  private child: ChildProcess | null = null;
  private stopping = false;

  constructor(options: UpOptions) {
    this.options = options;
  }

  async start(onLost: (reason: Error) => void): Promise<CloudReady> {
    const child = spawn(process.execPath, [launcher, 'cloud', ...argumentsFor(this.options)], {
      // Not in the terminal's process group: this process stops the child after Ctrl-C.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...inheritedEnvironment(), ...secretsFor(this.options) },
    });
    this.child = child;
    const ready = await untilReady(child);
    child.on('exit', (code, signal) => {
      if (!this.stopping) onLost(new Error(`the cloud ended with ${signal ?? code}`));
    });
    return ready;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    if (child.connected) child.disconnect();
    const enough = new AbortController();
    const late = realClock.sleep(stopMs, enough.signal).then(
      () => child.kill('SIGKILL'),
      () => false, // the child ended in time
    );
    await ended;
    enough.abort();
    await late;
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

/** The environment without the options of this process: `argumentsFor` and `secretsFor` pass the child's options. */
const inheritedEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DIVAN_')));
