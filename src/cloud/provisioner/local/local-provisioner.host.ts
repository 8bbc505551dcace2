// Nodes as processes of this machine, each on a loopback address of its own with the standard ports where the system has
// such addresses (Linux), else on 127.0.0.1 with ports of its own.

import { readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import type { Random } from '#ports/random.ts';
import { untilAborted } from '#ports/within.ts';
import {
  AddressInUseError,
  type NodePorts,
  type NodeSpec,
  type Placement,
  type Provisioner,
} from '../provisioner.ts';
import { readOwner } from './owner.host.ts';
import { NodeProcess } from './process.host.ts';

const standardPorts: Required<NodePorts> = {
  rest: 8091,
  restTls: 18091,
  kv: 11210,
  kvTls: 11207,
  capi: 8092,
  capiTls: 18092,
  dist: 21100,
  distTls: 21150,
  replication: 21200,
  query: 8093,
  queryTls: 18093,
  index: 9102,
  indexTls: 19102,
};
const placeAttemptsMax = 50;

export interface LocalProvisionerOptions {
  /** The parent of the data folders of all nodes. */
  folder: string;
  /** Identifies this cloud; it is stored in the folders of its nodes. */
  home: string;
  operatorAddress: string | undefined;
  clock: Clock;
  random: Random;
  log: Log;
}

/**
 * The address from which the cloud and its nodes connect to nodes. Undefined where only 127.0.0.1 exists: on Linux all of 127.0.0.0/8 does,
 * so that each node gets an address of its own.
 */
export const operatorAddressHere = (): string | undefined =>
  process.platform === 'linux' ? '127.255.0.1' : undefined;

export class LocalProvisioner implements Provisioner {
  private readonly options: LocalProvisionerOptions;
  private readonly nodes = new Map<string, NodeProcess>();
  private isClosed = false;

  constructor(options: LocalProvisionerOptions) {
    this.options = options;
  }

  async place(occupied: readonly Placement[]): Promise<Placement> {
    if (this.options.operatorAddress === undefined) return { address: '127.0.0.1', ports: await freePorts() };
    for (let i = 0; i < placeAttemptsMax; i++) {
      const address = this.loopbackAddress();
      if (
        !occupied.some((other) => other.address === address) &&
        (await areFree({ address, ports: standardPorts }))
      )
        return { address, ports: standardPorts };
    }
    throw new Error(`no free loopback address found in ${placeAttemptsMax} attempts`);
  }

  async start(spec: NodeSpec, cancellation: AbortSignal): Promise<void> {
    this.throwIfClosed();
    const node = this.node(spec);
    try {
      await untilAborted(cancellation, node.start());
    } catch (error) {
      cancellation.throwIfAborted();
      if (await areFree(spec)) throw error;
      throw new AddressInUseError(
        `${spec.address} is in use by another program: ${(error as Error).message}`,
      );
    }
  }

  async resume(spec: NodeSpec): Promise<void> {
    this.throwIfClosed();
    await this.node(spec).resume();
  }

  async remove(nodeId: string): Promise<void> {
    await this.node(specWithIdOnly(nodeId)).stop('SIGKILL');
    this.nodes.delete(nodeId);
    await rm(this.folderOf(nodeId), { recursive: true, force: true });
  }

  downReason(nodeId: string): string | null {
    return this.nodes.get(nodeId)?.downReason ?? null;
  }

  async existingNodes(): Promise<{ id: string; clusterId: string }[]> {
    const found = [];
    for (const id of await this.folders()) {
      const owner = readOwner(this.folderOf(id));
      if (owner?.home === this.options.home) found.push({ id, clusterId: owner.clusterId });
    }
    return found;
  }

  /** Also stops nodes of an earlier process that this one has not used. Nodes may still be resumed one after the other: no further one starts. */
  async close(): Promise<void> {
    this.isClosed = true;
    const ids = new Set([...this.nodes.keys(), ...(await this.folders())]);
    await Promise.all([...ids].map((id) => this.node(specWithIdOnly(id)).stop('SIGTERM')));
  }

  private throwIfClosed(): void {
    if (this.isClosed) throw new Error('the cloud stops');
  }

  private node(spec: NodeSpec): NodeProcess {
    const existing = this.nodes.get(spec.id);
    if (existing !== undefined) return existing;
    const node = new NodeProcess({ ...this.options, spec, folder: this.folderOf(spec.id) });
    this.nodes.set(spec.id, node);
    return node;
  }

  private async folders(): Promise<string[]> {
    try {
      return await readdir(this.options.folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
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

/** The spec of a node that is only stopped or removed, of which nothing but the id is needed. */
const specWithIdOnly = (id: string): NodeSpec => ({
  id,
  clusterId: '',
  address: '',
  ports: standardPorts,
  memoryMb: 0,
  services: [],
  administrator: { username: '', password: '' },
});

async function areFree({ address, ports }: Placement): Promise<boolean> {
  const found = await Promise.all(Object.values(ports).map((port: number) => tryListen(address, port)));
  return found.every((port) => port !== null);
}

async function freePorts(): Promise<NodePorts> {
  const names = Object.keys(standardPorts) as (keyof NodePorts)[];
  const found = await Promise.all(names.map(() => tryListen('127.0.0.1', 0)));
  return Object.fromEntries(names.map((name, i) => [name, found[i]])) as unknown as NodePorts;
}

/** Resolves with the port if a listener can be opened on it, else with null. */
function tryListen(address: string, port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(null));
    server.listen({ host: address, port, exclusive: true }, () => {
      const found = (server.address() as { port: number }).port;
      server.close(() => resolve(found));
    });
  });
}
