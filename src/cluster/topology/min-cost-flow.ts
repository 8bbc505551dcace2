// Minimum-cost maximum flow by successive shortest paths. All costs are integers of at least 0; equal input gives the same flow.

export class FlowNetwork {
  readonly #outgoing: number[][] = [];
  /** An edge and its reverse are neighbours: their indexes differ in the lowest bit. */
  readonly #target: number[] = [];
  readonly #free: number[] = [];
  readonly #cost: number[] = [];
  /** For each vertex, the cost of the cheapest path to it in the last search that reached it. */
  readonly #potential: number[] = [];

  addVertex(): number {
    this.#potential.push(0);
    return this.#outgoing.push([]) - 1;
  }

  /** Returns the edge's index, for `flow`. */
  addEdge(from: number, to: number, capacity: number, cost: number): number {
    const edge = this.#addOneWay(from, to, capacity, cost);
    this.#addOneWay(to, from, 0, -cost);
    return edge;
  }

  /** Finds the maximum flow of the lowest total cost. */
  fill(source: number, sink: number): void {
    for (
      let path = this.#cheapestPath(source, sink);
      path !== null;
      path = this.#cheapestPath(source, sink)
    ) {
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
  #cheapestPath(source: number, sink: number): number[] | null {
    const arrivals = this.#arrivals(source);
    if (arrivals[sink] === -1) return null;
    const path: number[] = [];
    for (let vertex = sink; vertex !== source; ) {
      const edge = arrivals[vertex] as number;
      path.push(edge);
      vertex = this.#target[edge ^ 1] as number;
    }
    return path;
  }

  /** For each vertex the last edge of the cheapest path to it; -1 where there is none. Adds the costs to `#potential`. */
  #arrivals(source: number): number[] {
    const costs = this.#outgoing.map(() => Number.POSITIVE_INFINITY);
    const arrivals = this.#outgoing.map(() => -1);
    const isDone = this.#outgoing.map(() => false);
    const waiting = new CostHeap();
    costs[source] = 0;
    waiting.add(source, 0);
    for (let vertex = waiting.pop(); vertex !== null; vertex = waiting.pop()) {
      if (isDone[vertex]) continue;
      isDone[vertex] = true;
      for (const edge of this.#outgoing[vertex] as number[]) {
        const to = this.#target[edge] as number;
        const cost = (costs[vertex] as number) + this.#reducedCost(vertex, to, edge);
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

  /** A vertex that cannot be reached now is never reached again: all paths begin at the source. */
  #raisePotentials(costs: readonly number[]): void {
    costs.forEach((cost, vertex) => {
      if (Number.isFinite(cost)) this.#potential[vertex] = (this.#potential[vertex] as number) + cost;
    });
  }
}

/** Vertices by cost, cheapest first. A vertex may be in the heap more than once. */
class CostHeap {
  readonly #vertices: number[] = [];
  readonly #costs: number[] = [];

  add(vertex: number, cost: number): void {
    let at = this.#vertices.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = (at - 1) >> 1;
      if ((this.#costs[parent] as number) <= cost) break;
      this.#put(at, this.#vertices[parent] as number, this.#costs[parent] as number);
    }
    this.#put(at, vertex, cost);
  }

  pop(): number | null {
    const [first, vertex, cost] = [this.#vertices[0], this.#vertices.pop(), this.#costs.pop()];
    if (first === undefined || vertex === undefined || cost === undefined) return null;
    if (this.#vertices.length > 0) this.#sink(vertex, cost);
    return first;
  }

  #sink(vertex: number, cost: number): void {
    let at = 0;
    for (;;) {
      const child = this.#cheaperChild(at);
      if (child >= this.#vertices.length || (this.#costs[child] as number) >= cost) break;
      this.#put(at, this.#vertices[child] as number, this.#costs[child] as number);
      at = child;
    }
    this.#put(at, vertex, cost);
  }

  #cheaperChild(at: number): number {
    const left = 2 * at + 1;
    return (this.#costs[left + 1] ?? Number.POSITIVE_INFINITY) < (this.#costs[left] as number)
      ? left + 1
      : left;
  }

  #put(at: number, vertex: number, cost: number): void {
    this.#vertices[at] = vertex;
    this.#costs[at] = cost;
  }
}
