// Real NATS servers for a test, on free ports of this machine or of the given ones. Their files are in a new folder, which is removed when
// the test ends. A restart keeps the port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from './free-port.ts';
import { endAfterTests } from './left-running.ts';
import { natsServerPath } from './nats-binary.ts';
import { eventually } from './node-process.ts';

interface NatsSettings {
  /** The number of servers; several form a cluster, whose servers sync each change. */
  count?: number;
  /** Lines for each server's configuration. */
  extra?: string;
  /** Where each server runs; by default on this machine. */
  machines?: readonly NatsMachine[];
}

export interface NatsMachine {
  readonly host: string;
  /** Arguments before the command: `['ip', 'netns', 'exec', 'machine']`. */
  readonly within: readonly string[];
}

const thisMachine: NatsMachine = { host: '127.0.0.1', within: [] };

export class NatsCluster {
  readonly servers: NatsServer[];
  private readonly folder: string;

  private constructor(folder: string, servers: NatsServer[]) {
    this.folder = folder;
    this.servers = servers;
  }

  static async start(settings: NatsSettings = {}): Promise<NatsCluster> {
    const { machines, extra = '' } = settings;
    const count = machines?.length ?? settings.count ?? 1;
    const machineOf = (i: number): NatsMachine => machines?.[i] ?? thisMachine;
    const folder = mkdtempSync(join(tmpdir(), 'divan-nats-'));
    const ports = await freePorts(2 * count);
    const routes = ports.slice(count).map((port, i) => `nats://${machineOf(i).host}:${port}`);
    const servers = ports.slice(0, count).map((port, i) => {
      const { host, within } = machineOf(i);
      const cluster = `cluster { name: c, listen: "${host}:${ports[count + i]}", routes: [${routes.join(', ')}] }`;
      const sync = count > 1 ? 'sync_interval: always' : '';
      const path = join(folder, `${i}`);
      mkdirSync(path);
      const text = `server_name: n${i}\nlisten: "${host}:${port}"\n${count > 1 ? cluster : ''}
        jetstream { store_dir: "${join(path, 'store')}", ${sync} }\n${extra}\n`;
      writeFileSync(join(path, 'nats.conf'), text);
      return new NatsServer(path, port, { host, within });
    });
    const cluster = new NatsCluster(folder, servers);
    await Promise.all(servers.map((server) => server.start()));
    return cluster;
  }

  get url(): string {
    return `nats://${this.servers.map(({ port, host }) => `${host}:${port}`).join(',')}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop('SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class NatsServer {
  readonly port: number;
  readonly host: string;
  readonly folder: string;
  private readonly within: readonly string[];
  private child: ChildProcess | null = null;

  constructor(folder: string, port: number, { host, within }: NatsMachine = thisMachine) {
    this.folder = folder;
    this.port = port;
    this.host = host;
    this.within = within;
  }

  async start(): Promise<void> {
    const log = join(this.folder, 'log');
    const own = [natsServerPath, '-c', join(this.folder, 'nats.conf'), '-l', log];
    const [command, ...args] = [...this.within, ...own] as [string, ...string[]];
    const child = spawn(command, args, { stdio: 'ignore' });
    this.child = child;
    endAfterTests(child);
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`nats-server ended: ${readFileSync(log, 'utf8')}`);
      await untilGreeted(this.host, this.port);
    });
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGCONT'); // a paused process would not handle SIGTERM
    child.kill(signal);
    await ended;
  }

  /** Pauses the server until `resume` is called. */
  pause(): void {
    this.child?.kill('SIGSTOP');
  }

  resume(): void {
    this.child?.kill('SIGCONT');
  }

  /** Copies the store of a stopped server; returns the folder of the copy. */
  backup(): string {
    const copy = join(this.folder, `backup-${process.hrtime.bigint()}`);
    cpSync(join(this.folder, 'store'), copy, { recursive: true });
    return copy;
  }

  /** Makes a new server of a stopped one: another name, and an empty storage. */
  renew(name: string): void {
    const path = join(this.folder, 'nats.conf');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^server_name: .*$/m, `server_name: ${name}`));
    this.restore(null);
  }

  /** Replaces the store of a stopped server by a backup; null: by none, as after the loss of its disk. */
  restore(backup: string | null): void {
    rmSync(join(this.folder, 'store'), { recursive: true });
    if (backup !== null) cpSync(backup, join(this.folder, 'store'), { recursive: true });
  }
}

/** Resolves once a server has sent the message with which it greets a new connection. */
function untilGreeted(host: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port });
  socket.on('data', () => {
    socket.destroy();
    resolve();
  });
  socket.on('error', reject);
  return promise;
}
