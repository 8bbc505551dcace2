// A network of machines on this one: each has an address and all ports of its own, and packets from one to another can be lost, in
// one direction or both. Needs the right to make network namespaces (root on Linux) and iproute2.
import { execFileSync } from 'node:child_process';

const ip = (...args: string[]): void => {
  execFileSync('ip', args, { stdio: 'pipe' });
};

/** The address of no machine: packets sent to it are lost without a notice to the sender. */
const lostMac = '02:00:00:00:00:01';

export class NamespaceNetwork {
  private readonly tag: string;
  private readonly subnet: string;
  private readonly size: number;
  private readonly cuts = new Set<string>();

  private constructor(size: number) {
    this.tag = `dv${process.pid.toString(36)}`;
    this.subnet = `10.${64 + (process.pid % 64)}.${(process.pid >> 6) % 256}`;
    this.size = size;
  }

  static of(size: number): NamespaceNetwork {
    const network = new NamespaceNetwork(size);
    try {
      network.make();
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

  /** Loses what one machine sends to the other. */
  cut(from: number, to: number): void {
    const where = ['-n', this.nameOf(from), 'neigh'];
    ip(...where, 'replace', this.addressOf(to), 'lladdr', lostMac, 'nud', 'permanent', 'dev', 'eth0');
    this.cuts.add(`${from} ${to}`);
  }

  healAll(): void {
    for (const cut of this.cuts) {
      const [from, to] = cut.split(' ').map(Number) as [number, number];
      ip('-n', this.nameOf(from), 'neigh', 'del', this.addressOf(to), 'dev', 'eth0');
    }
    this.cuts.clear();
  }

  [Symbol.dispose](): void {
    const removals = [...this.machines().map((machine) => ['netns', 'del', this.nameOf(machine)])];
    for (const removal of [...removals, ['link', 'del', this.tag]]) {
      try {
        ip(...removal);
      } catch {
        // It was not made.
      }
    }
  }

  private make(): void {
    ip('link', 'add', this.tag, 'type', 'bridge');
    ip('addr', 'add', `${this.subnet}.254/24`, 'dev', this.tag);
    ip('link', 'set', this.tag, 'up');
    for (const machine of this.machines()) {
      const [name, cable] = [this.nameOf(machine), `${this.tag}v${machine}`];
      ip('netns', 'add', name);
      ip('link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
      ip('link', 'set', cable, 'master', this.tag, 'up');
      ip('-n', name, 'addr', 'add', `${this.addressOf(machine)}/24`, 'dev', 'eth0');
      ip('-n', name, 'link', 'set', 'eth0', 'up');
      ip('-n', name, 'link', 'set', 'lo', 'up');
    }
  }

  private machines(): number[] {
    return Array.from({ length: this.size }, (_, machine) => machine);
  }

  private nameOf(machine: number): string {
    return `${this.tag}-${machine}`;
  }
}
