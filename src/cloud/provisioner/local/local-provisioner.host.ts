// Nodes as processes of this machine, each on a loopback address of its own with the standard ports where the system has
// such addresses (Linux), else on 127.0.0.1 with ports of its own.
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import type { NodeHealth, NodePorts, NodeSpec, Placement, Provisioner } from '../provisioner.ts';
import { NodeProcess } from './process.host.ts';

const standardPorts: NodePorts = {
  rest: 8091,
  restTls: 18091,
  kv: 11210,
  kvTls: 11207,
  capi: 8092,
  capiTls: 18092,
  dist: 21100,
  distTls: 21150,
};
const placesTried = 50;

export interface LocalProvisionerOptions {
  /** Each node keeps its data in a folder below this one. */
  folder: string;
  operatorAddress: string | undefined;
  clock: Clock;
  random: Random;
  log: Log;
}

/** Linux has all of 127.0.0.0/8: addresses of their own for nodes, and one for whoever operates them. */
export const operatorAddressHere = (): string | undefined =>
  process.platform === 'linux' ? '127.255.0.1' : undefined;

export class LocalProvisioner implements Provisioner {
  private readonly options: LocalProvisionerOptions;
  private readonly nodes = new Map<string, NodeProcess>();

  constructor(options: LocalProvisionerOptions) {
    this.options = options;
  }

  async place(taken: readonly Placement[]): Promise<Placement> {
    if (this.options.operatorAddress === undefined) return { address: '127.0.0.1', ports: await freePorts() };
    for (let i = 0; i < placesTried; i++) {
      const address = this.loopbackAddress();
      if (!taken.some((other) => other.address === address) && (await isFree(address)))
        return { address, ports: standardPorts };
    }
    throw new Error(`no free loopback address found in ${placesTried} tries`);
  }

  async start(spec: NodeSpec): Promise<void> {
    const { clock, log, operatorAddress } = this.options;
    const known = this.nodes.get(spec.id);
    const node =
      known ?? new NodeProcess({ spec, folder: this.folderOf(spec.id), operatorAddress, clock, log });
    this.nodes.set(spec.id, node);
    await node.start();
  }

  async remove(nodeId: string): Promise<void> {
    const { clock, log, operatorAddress } = this.options;
    const folder = this.folderOf(nodeId);
    const node =
      this.nodes.get(nodeId) ??
      new NodeProcess({ spec: nobody(nodeId), folder, operatorAddress, clock, log });
    await node.stop('SIGKILL');
    this.nodes.delete(nodeId);
    await rm(folder, { recursive: true, force: true });
  }

  health(nodeId: string): NodeHealth {
    return this.nodes.get(nodeId)?.health ?? 'stopped';
  }

  async close(): Promise<void> {
    await Promise.all([...this.nodes.values()].map((node) => node.stop('SIGTERM')));
  }

  private folderOf(nodeId: string): string {
    return join(this.options.folder, nodeId);
  }

  /** 127.64.0.1 to 127.127.255.254. */
  private loopbackAddress(): string {
    const [a, b, c] = this.options.random.bytes(3) as unknown as [number, number, number];
    return `127.${64 + (a % 64)}.${b}.${1 + (c % 254)}`;
  }
}

/** A node that is only to be removed. */
const nobody = (id: string): NodeSpec => ({
  id,
  address: '',
  ports: standardPorts,
  memoryMb: 0,
  administrator: { username: '', password: '' },
});

async function isFree(address: string): Promise<boolean> {
  const found = await Promise.all(Object.values(standardPorts).map((port: number) => bound(address, port)));
  return found.every((port) => port !== null);
}

async function freePorts(): Promise<NodePorts> {
  const names = Object.keys(standardPorts) as (keyof NodePorts)[];
  const found = await Promise.all(names.map(() => bound('127.0.0.1', 0)));
  return Object.fromEntries(names.map((name, i) => [name, found[i]])) as unknown as NodePorts;
}

/** The port, when it could be listened on just now. */
function bound(address: string, port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen({ host: address, port, exclusive: true }, () => {
      const found = (server.address() as { port: number }).port;
      server.close(() => resolve(found));
    });
  });
}
