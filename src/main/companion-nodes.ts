// The further nodes of `divan up --nodes N`: processes that join the first node's cluster, each in a folder of its data folder. One that
// ends is started again. They stop when their channel to this process closes.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { realClock } from '#ports/clock.ts';
import { environmentWithoutOptions, launcher, stopChild } from './child-process.ts';
import { portNames } from './node-options.ts';
import { environmentName } from './options.ts';
import type { ReadyFile } from './ready.ts';
import { StartError } from './start-error.ts';
import type { UpOptions } from './up-options.ts';

const pauseMinMs = 1_000;
const pauseMaxMs = 30_000;

export class CompanionNodes {
  readonly #options: UpOptions;
  readonly #children = new Map<number, ChildProcess>();
  readonly #stopping = new AbortController();

  constructor(options: UpOptions) {
    this.#options = options;
  }

  /** Starts the nodes one after another, since a cluster adds one node at a time. */
  async start(first: ReadyFile): Promise<void> {
    for (let number = 2; number <= this.#options.nodes; number++) {
      const child = this.#spawn(number, first);
      this.#children.set(number, child);
      await untilReady(child, number);
      this.#startAgainAfter(child, number, first, pauseMinMs);
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('it is stopping'));
    await Promise.all([...this.#children.values()].map(stopChild));
  }

  /** The pause grows as long as the node does not become ready. */
  #startAgainAfter(child: ChildProcess, number: number, first: ReadyFile, pauseMs: number): void {
    let nextPauseMs = Math.min(2 * pauseMs, pauseMaxMs);
    child.once('message', () => {
      nextPauseMs = pauseMinMs;
    });
    const startAgain = (what: string): void => {
      if (this.#stopping.signal.aborted) return;
      process.stderr.write(`divan: node ${number} ${what} and is started again\n`);
      const start = (): void => {
        const next = this.#spawn(number, first);
        this.#children.set(number, next);
        this.#startAgainAfter(next, number, first, nextPauseMs);
      };
      realClock.sleep(pauseMs, this.#stopping.signal).then(start, () => {}); // stopped meanwhile
    };
    child.once('exit', (code, signal) => startAgain(`ended with ${signal ?? code}`));
    child.on('error', (error) => {
      // Other errors are those of messages to a running process.
      if (child.pid === undefined) startAgain(`did not start (${error.message})`);
    });
  }

  #spawn(number: number, { node, username, password }: ReadyFile): ChildProcess {
    const { host, services, edition, engine, 'nats-server': program } = this.#options;
    const dataDir = join(this.#options['data-dir'], `node-${number}`);
    const given = [
      '--data-dir',
      dataDir,
      '--host',
      host,
      '--services',
      services,
      '--edition',
      edition,
      '--log-level',
      this.#options['log-level'],
      '--join',
      node?.rest ?? '',
      '--engine',
      engine,
      ...(program === undefined ? [] : ['--nats-server', program]),
      ...portNames.flatMap((name) => [`--${name}`, '0']),
    ];
    // Every user of the machine can read arguments.
    const secrets = username === undefined ? {} : credentialsOf(username, password ?? '');
    return spawn(process.execPath, [launcher, 'node', ...given], {
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...environmentWithoutOptions(), ...secrets },
    });
  }
}

const credentialsOf = (username: string, password: string): NodeJS.ProcessEnv => ({
  [environmentName('username')]: username,
  [environmentName('password')]: password,
});

async function untilReady(child: ChildProcess, number: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (): void =>
    reject(new StartError(`node ${number} did not start: see the lines above, or start with fewer --nodes`));
  child.once('message', () => resolve());
  child.once('exit', fail);
  child.once('error', fail);
  try {
    await promise;
  } finally {
    child.off('exit', fail);
  }
}
