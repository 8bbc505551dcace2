// The cheapest way to carry units through a network of edges with capacities and costs (successive shortest paths). All costs are
// integers of at least 0; equal input gives the same answer.

export class FlowNetwork {
  readonly #outgoing: number[][] = [];
  /** An edge and its reverse are neighbours: their indexes differ in the lowest bit. */
  readonly #target: number[] = [];
  readonly #free: number[] = [];
  readonly #cost: number[] = [];
  /** For each point, the cost of the cheapest path that was found to it last. */
  readonly #potential: number[] = [];

  addPoint(): number {
    this.#potential.push(0);
    return this.#outgoing.push([]) - 1;
  }

  /** Returns the edge's index, for `flow`. */
  addEdge(from: number, to: number, capacity: number, cost: number): number {
    const edge = this.#addOneWay(from, to, capacity, cost);
    this.#addOneWay(to, from, 0, -cost);
    return edge;
  }

  /** Carries as many units as fit, at the lowest total cost. */
  fill(source: number, sink: number): void {
    for (let path = this.#cheapest(source, sink); path !== null; path = this.#cheapest(source, sink)) {
      for (const edge of path) {
        this.#change(edge, -1);
        this.#change(edge ^ 1, 1);
      }
    }
  }

  /** The units that the edge carries. */
  flow(edge: number): number {
    return this.#free[edge ^ 1] as number;
  }

  #addOneWay(from: number, to: number, capacity: number, cost: number): number {
    const edge = this.#target.push(to) - 1;
    this.#free.push(capacity);
    this.#cost.push(cost);
    this.#outgoing[from]?.push(edge);
    return edge;
  }

  #change(edge: number, by: number): void {
    this.#free[edge] = (this.#free[edge] as number) + by;
  }

  /** The edges of the cheapest path with room, last one first. */
  #cheapest(source: number, sink: number): number[] | null {
    const arrivals = this.#arrivals(source);
    if (arrivals[sink] === -1) return null;
    const path: number[] = [];
    for (let point = sink; point !== source; ) {
      const edge = arrivals[point] as number;
      path.push(edge);
      point = this.#target[edge ^ 1] as number;
    }
    return path;
  }

  /** For each point the last edge of the cheapest path to it; -1 where there is none. Adds the costs to `#potential`. */
  #arrivals(source: number): number[] {
    const costs = this.#outgoing.map(() => Number.POSITIVE_INFINITY);
    const arrivals = this.#outgoing.map(() => -1);
    const isDone = this.#outgoing.map(() => false);
    const waiting = new CostHeap();
    costs[source] = 0;
    waiting.add(source, 0);
    for (let point = waiting.take(); point !== null; point = waiting.take()) {
      if (isDone[point]) continue;
      isDone[point] = true;
      for (const edge of this.#outgoing[point] as number[]) {
        const to = this.#target[edge] as number;
        const cost = (costs[point] as number) + this.#reducedCost(point, to, edge);
        if (this.#free[edge] === 0 || cost >= (costs[to] as number)) continue;
        costs[to] = cost;
        arrivals[to] = edge;
        waiting.add(to, cost);
      }
    }
    this.#raisePotentials(costs);
    return arrivals;
  }

  /** At least 0 for each edge with room, although reverse edges have negative costs. */
  #reducedCost(from: number, to: number, edge: number): number {
    return (this.#cost[edge] as number) + (this.#potential[from] as number) - (this.#potential[to] as number);
  }

  /** A point that cannot be reached now is never reached again: all paths begin at the source. */
  #raisePotentials(costs: readonly number[]): void {
    costs.forEach((cost, point) => {
      if (Number.isFinite(cost)) this.#potential[point] = (this.#potential[point] as number) + cost;
    });
  }
}

/** Points by cost, cheapest first. A point may be in it more than once. */
class CostHeap {
  readonly #points: number[] = [];
  readonly #costs: number[] = [];

  add(point: number, cost: number): void {
    let at = this.#points.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = (at - 1) >> 1;
      if ((this.#costs[parent] as number) <= cost) break;
      this.#put(at, this.#points[parent] as number, this.#costs[parent] as number);
    }
    this.#put(at, point, cost);
  }

  take(): number | null {
    const [first, point, cost] = [this.#points[0], this.#points.pop(), this.#costs.pop()];
    if (first === undefined || point === undefined || cost === undefined) return null;
    if (this.#points.length > 0) this.#sink(point, cost);
    return first;
  }

  #sink(point: number, cost: number): void {
    let at = 0;
    for (;;) {
      const child = this.#cheaperChild(at);
      if (child >= this.#points.length || (this.#costs[child] as number) >= cost) break;
      this.#put(at, this.#points[child] as number, this.#costs[child] as number);
      at = child;
    }
    this.#put(at, point, cost);
  }

  #cheaperChild(at: number): number {
    const left = 2 * at + 1;
    return (this.#costs[left + 1] ?? Number.POSITIVE_INFINITY) < (this.#costs[left] as number)
      ? left + 1
      : left;
  }

  #put(at: number, point: number, cost: number): void {
    this.#points[at] = point;
    this.#costs[at] = cost;
  }
}
