// The capacity of each server (home) that shares the database: any of them may get a request about the nodes of another, and their
// operators may have given them different memory and size scales.
import { putFact } from '../store/put-fact.ts';
import type { Store } from '../store/tables.ts';
import { Capacity } from './capacity.ts';

export interface HomeCapacitiesOptions {
  store: Store;
  /** The home of this server, with its own options. */
  home: string;
  capacityMb: number;
  sizeScale: number;
}

export class HomeCapacities {
  readonly own: Capacity;
  private readonly options: HomeCapacitiesOptions;

  constructor(options: HomeCapacitiesOptions) {
    this.options = options;
    this.own = new Capacity(options);
  }

  /** Stores the options of this server for the others. */
  async record(): Promise<void> {
    const { store, home, capacityMb, sizeScale } = this.options;
    await putFact(store, factOf(home), JSON.stringify({ capacityMb, sizeScale }));
  }

  /** Resolves with the capacity of this server for a home whose process is of a version that records none. */
  async of(home: string): Promise<Capacity> {
    if (home === this.options.home) return this.own;
    const facts = this.options.store.selectFrom('facts').select('value').where('name', '=', factOf(home));
    const fact = await facts.executeTakeFirst();
    if (fact === undefined) return this.own;
    return new Capacity(JSON.parse(fact.value) as { capacityMb: number; sizeScale: number });
  }
}

const factOf = (home: string): string => `capacity of ${home}`;
