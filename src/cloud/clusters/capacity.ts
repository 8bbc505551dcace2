// Memory capacity for the nodes of a server (its home): computes the share of a node and refuses clusters beyond the total.
import { invalid } from '../answers/api-error.ts';
import { lockLimit } from '../store/lock-limit.ts';
import type { Store } from '../store/tables.ts';
import type { ServerGroup } from './cluster-spec.ts';
import { scaledMemoryMb } from './instances.ts';

export class Capacity {
  private readonly totalMb: number;
  private readonly sizeScale: number;

  /** `capacityMb`: memory of all nodes of a home together; `sizeScale`: the share of an instance's memory that its node gets. */
  constructor({ capacityMb, sizeScale }: { capacityMb: number; sizeScale: number }) {
    this.totalMb = capacityMb;
    this.sizeScale = sizeScale;
  }

  memoryMb(instanceGib: number): number {
    return scaledMemoryMb(instanceGib, this.sizeScale);
  }

  /** Throws if the memory of these servers is not free. Two requests cannot reserve the same. */
  async reserve(transaction: Store, home: string, servers: readonly ServerGroup[]): Promise<void> {
    await lockLimit(transaction, 'capacity');
    const { used } = await transaction
      .selectFrom('nodes')
      .select((e) => e.fn.sum<number | null>('memory_mb').as('used'))
      .where('home', '=', home)
      .executeTakeFirstOrThrow();
    // A server may have been started with less than its nodes have.
    const free = Math.max(0, this.totalMb - Number(used ?? 0));
    const needed = servers.reduce((sum, group) => sum + group.size * this.memoryMb(group.memoryGib), 0);
    if (needed > free)
      throw invalid(
        `servers: the new nodes would take ${needed} MB and ${free} of ${this.totalMb} MB are free; delete clusters or ask for less`,
      );
  }
}
