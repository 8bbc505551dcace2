// A network of machines on this one: each has an address and all ports of its own, and packets from one to another can be lost or
// delayed, in one direction or both. Needs the right to make network namespaces (root on Linux), iproute2 and a C compiler.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtC } from './built-c.ts';

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: 'pipe' });
};

/** The address of no machine: packets sent to it are lost without a notice to the sender. */
const lostMac = '02:00:00:00:00:01';

export class NamespaceNetwork {
  private readonly tag: string;
  private readonly subnet: string;
  readonly size: number;
  /** Pairs of machines, `from to`, whose packets are lost or go through the relay. */
  private readonly redirected = new Set<string>();
  /** The process that delays packets, on a further machine of its own, `relayMachine`; null: nothing is delayed. */
  private relay: ChildProcess | null = null;

  private constructor(size: number) {
    this.tag = `dv${process.pid.toString(36)}`;
    // Networks of processes that run at once must differ; those of 16,384 successive process ids do.
    this.subnet = `10.${64 + (process.pid % 64)}.${(process.pid >> 6) % 256}`;
    this.size = size;
  }

  static create(size: number): NamespaceNetwork {
    const network = new NamespaceNetwork(size);
    try {
      network.addMachines();
    } catch (error) {
      network[Symbol.dispose]();
      throw error;
    }
    return network;
  }

  addressOf(machine: number): string {
    return `${this.subnet}.${machine + 1}`;
  }

  /** The arguments in front of a command that make it run on the machine. */
  commandOn(machine: number): string[] {
    return ['ip', 'netns', 'exec', this.nameOf(machine)];
  }

  /** Loses what the machine and all others send each other. */
  isolate(alone: number): void {
    for (const other of this.machines()) {
      if (other === alone) continue;
      this.cut(alone, other);
      this.cut(other, alone);
    }
  }

  /** Loses what one machine sends to the other. */
  cut(from: number, to: number): void {
    this.redirect(from, to, lostMac);
  }

  /** Delays what the machine sends to all others and receives from them. Further machines get the delay of the first call until `healAll`. */
  async delay(machine: number, ms: number): Promise<void> {
    this.relay ??= await this.startRelay(ms);
    const mac = this.macOf(this.relayMachine);
    for (const other of this.machines()) {
      if (other === machine) continue;
      this.redirect(machine, other, mac);
      this.redirect(other, machine, mac);
    }
  }

  /** Ends all losses and delays. */
  healAll(): void {
    for (const pair of this.redirected) {
      const [from, to] = pair.split(' ').map(Number) as [number, number];
      ip('-n', this.nameOf(from), 'neigh', 'del', this.addressOf(to), 'dev', 'eth0');
    }
    this.redirected.clear();
    this.relay?.kill('SIGKILL');
    this.relay = null;
  }

  [Symbol.dispose](): void {
    this.relay?.kill('SIGKILL');
    const machines = this.machinesAndRelay();
    // The system removes links some time after their namespaces, and the next network of this process has links of the same names.
    const links = [...machines.map((machine) => this.linkOf(machine)), this.tag];
    const removals = [
      ...links.map((link) => ['link', 'del', link]),
      ...machines.map((machine) => ['netns', 'del', this.nameOf(machine)]),
    ];
    for (const removal of removals) {
      try {
        ip(...removal);
      } catch {
        // The link or namespace does not exist.
      }
    }
  }

  private addMachines(): void {
    ip('link', 'add', this.tag, 'type', 'bridge');
    ip('addr', 'add', `${this.subnet}.254/24`, 'dev', this.tag);
    ip('link', 'set', this.tag, 'up');
    for (const machine of this.machinesAndRelay()) {
      const [name, link] = [this.nameOf(machine), this.linkOf(machine)];
      ip('netns', 'add', name);
      ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', link, 'master', this.tag, 'up');
      ip('-n', name, 'addr', 'add', `${this.addressOf(machine)}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  private redirect(from: number, to: number, mac: string): void {
    const where = ['-n', this.nameOf(from), 'neigh'];
    ip(...where, 'replace', this.addressOf(to), 'lladdr', mac, 'nud', 'permanent', 'dev', 'eth0');
    this.redirected.add(`${from} ${to}`);
  }

  private async startRelay(ms: number): Promise<ChildProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'divan-relay-'));
    const program = builtC('delaying-relay.c', join(folder, 'delaying-relay'));
    const addresses = this.machines().flatMap((machine) => [this.addressOf(machine), this.macOf(machine)]);
    const [command, ...args] = [...this.commandOn(this.relayMachine), program, String(ms), ...addresses];
    const relay = spawn(command as string, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(relay.stdout, 'data');
    rmSync(folder, { recursive: true });
    return relay;
  }

  private macOf(machine: number): string {
    const args = ['-n', this.nameOf(machine), '-j', 'link', 'show', 'eth0'];
    const [link] = JSON.parse(execFileSync('ip', args, { encoding: 'utf8' })) as { address: string }[];
    return link?.address ?? '';
  }

  private machines(): number[] {
    return Array.from({ length: this.size }, (_, machine) => machine);
  }

  private machinesAndRelay(): number[] {
    return [...this.machines(), this.relayMachine];
  }

  /** The number of the machine after the last. */
  private get relayMachine(): number {
    return this.size;
  }

  private linkOf(machine: number): string {
    return `${this.tag}v${machine}`;
  }

  private nameOf(machine: number): string {
    return `${this.tag}-${machine}`;
  }
}
