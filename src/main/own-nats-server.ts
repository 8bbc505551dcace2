// The NATS server that this node runs beside itself with `--engine nats`, in a folder of its data folder.
import { join } from 'node:path';
import type { ServerPlace, ServerTask } from '#cluster/joining/join-messages.ts';
import { realClock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { realRandom } from '#ports/random.ts';
import { freePortNear } from '#replog/own-servers/free-port.adapter.ts';
import { OwnServer } from '#replog/own-servers/own-server.adapter.ts';
import { findServerProgram } from '#replog/own-servers/server-program.adapter.ts';
import { serverFolder } from './membership-file.ts';
import { type NodeOptions, ownServers } from './node-options.ts';
import { StartError } from './start-error.ts';

export class OwnNatsServer {
  readonly #options: NodeOptions;
  readonly #server: OwnServer;

  constructor(options: NodeOptions, log: Log) {
    this.#options = options;
    this.#server = new OwnServer({
      folder: join(options['data-dir'], serverFolder),
      program: () => this.#program(),
      clock: realClock,
      random: realRandom,
      log: log.child('nats'),
    });
  }

  /** @throws StartError if this node has a server, or may get one, and the program is missing or too old */
  async start(): Promise<void> {
    if (this.#options.engine === ownServers) await this.#program();
    await this.#server.startExisting();
  }

  /** Proposes ports for a server of this node. `taken`: ports of other servers that are about to start on this machine. Null: this node runs none. */
  async offer(taken: readonly number[]): Promise<Pick<ServerPlace, 'port' | 'routePort'> | null> {
    const { engine, host, 'nats-port': port, 'nats-route-port': routePort } = this.#options;
    if (engine !== ownServers) return null;
    await this.#program();
    const free = (wanted: number): Promise<number> => freePortNear(host, taken.includes(wanted) ? 0 : wanted);
    return { port: await free(port), routePort: await free(routePort) };
  }

  run(task: ServerTask): Promise<void> {
    return this.#server.startNew({ ...task, host: this.#options.host });
  }

  get name(): string | null {
    return this.#server.name;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Stops the server and deletes its files, when the node joins or leaves a cluster. */
  remove(): Promise<void> {
    return this.#server.remove();
  }

  /**
   * The program of the server that this node has run before; undefined without one. A node that is started without `--engine nats` runs its
   * server until the configuration is no longer on the NATS servers.
   */
  get #knownProgram(): string | undefined {
    return this.#options.engine === ownServers ? undefined : (this.#server.program ?? undefined);
  }

  async #program(): Promise<string> {
    try {
      const given = this.#options['nats-server'] ?? this.#knownProgram;
      return await findServerProgram(given, process.env['PATH'] ?? '');
    } catch (error) {
      throw new StartError((error as Error).message, { cause: error });
    }
  }
}
