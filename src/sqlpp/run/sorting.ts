// ORDER BY: sorts in memory, keeps only the first rows if a LIMIT follows, and spills sorted runs above the request's memory share.
import { sortedAtOnce } from '#base/sort-steps.ts';
import type { OrderTerm } from '../plan/logical.ts';
import type { Order } from '../plan/operators.ts';
import { collate } from '../values/collation.ts';
import type { Value } from '../values/value.ts';
import type { BlockCompiler } from './code.ts';
import type { Row } from './row.ts';
import type { Pull, Run } from './run.ts';
import { type CompareRows, type SortableRow, sortableRowBytes } from './sortable-row.ts';
import { SpilledRuns } from './spilled-runs.ts';

export type CompareKeys = (a: readonly Value[], b: readonly Value[]) => number;

interface TermRules {
  readonly isDescending: boolean;
  readonly nulls: 'first' | 'last' | undefined;
}

export function order(compiler: BlockCompiler, input: Pull, node: Order): Pull {
  const keys = compiler.codes(node.terms.map((term) => term.expression));
  const rules = compileRules(compiler, node.terms);
  const limit = node.limit && compiler.code(node.limit);
  const offset = node.offset && compiler.code(node.offset);
  return async function* pullSorted(run, seed) {
    const compare = await rules(run, seed);
    const rowsMax = limit
      ? (await run.count(limit, seed, 'LIMIT')) + (offset ? await run.count(offset, seed, 'OFFSET') : 0)
      : Number.POSITIVE_INFINITY;
    const sorter = new Sorter(run, compare, rowsMax);
    try {
      for await (const rows of input(run, seed)) {
        const added: SortableRow[] = [];
        await run.each(rows, (row) => {
          added.push({ keys: keys.map((key) => run.resolveDeep(key.run(row, run.evaluation))), row });
        });
        await sorter.add(added);
        await run.yieldIfDue();
      }
      yield* sorter.rows();
    } finally {
      await sorter.close();
    }
  };
}

/** The comparison of ORDER BY for a run: the direction and the position of NULLs may be parameters. */
export function compileRules(
  compiler: BlockCompiler,
  terms: readonly OrderTerm[],
): (run: Run, seed: Row) => Promise<CompareKeys> {
  const codes = terms.map(({ isDescending, nulls }) => ({
    isDescending: typeof isDescending === 'boolean' ? isDescending : compiler.code(isDescending),
    nulls: typeof nulls === 'object' ? compiler.code(nulls) : nulls,
  }));
  return async (run, seed) => {
    const rules: TermRules[] = [];
    for (const { isDescending, nulls } of codes) {
      rules.push({
        isDescending:
          typeof isDescending === 'boolean'
            ? isDescending
            : (await run.value(() => isDescending.run(seed, run.evaluation))) === 'desc',
        nulls:
          typeof nulls === 'object' ? nullsOf(await run.value(() => nulls.run(seed, run.evaluation))) : nulls,
      });
    }
    return comparator(rules);
  };
}

function nullsOf(value: Value): 'first' | 'last' | undefined {
  return value === 'first' || value === 'last' ? value : undefined;
}

function comparator(rules: readonly TermRules[]): CompareKeys {
  return (a, b) => {
    for (let at = 0; at < rules.length; at++) {
      const { isDescending, nulls } = rules[at] as TermRules;
      const left = a[at];
      const right = b[at];
      const isLeftNull = left === undefined || left === null;
      const isRightNull = right === undefined || right === null;
      if (nulls !== undefined && isLeftNull !== isRightNull) {
        return isLeftNull === (nulls === 'first') ? -1 : 1;
      }
      const order = collate(left, right);
      if (order !== 0) return isDescending ? -order : order;
    }
    return 0;
  };
}

/** The largest LIMIT, with OFFSET, for which the sorter drops rows beyond it while others arrive. */
const truncatedLimitMax = 20_000;

class Sorter {
  readonly #run: Run;
  readonly #compare: CompareRows;
  readonly #rowsMax: number;
  readonly #spilled: SpilledRuns;
  /** Sorted runs in memory. */
  #runs: SortableRow[][] = [];
  #chunk: SortableRow[] = [];
  #rowCount = 0;
  #bytes = 0;

  constructor(run: Run, compare: CompareKeys, rowsMax: number) {
    this.#run = run;
    this.#compare = (a, b) => compare(a.keys, b.keys);
    this.#rowsMax = rowsMax <= truncatedLimitMax ? rowsMax : Number.POSITIVE_INFINITY;
    this.#spilled = new SpilledRuns(run, this.#compare);
  }

  async add(rows: readonly SortableRow[]): Promise<void> {
    this.#run.outcome.sorted += rows.length;
    let added = 0;
    for (const row of rows) {
      this.#chunk.push(row);
      added += sortableRowBytes(row);
    }
    this.#rowCount += rows.length;
    this.#hold(added);
    if (this.#chunk.length >= sortedAtOnce) this.#closeChunk();
    if (this.#rowCount > 2 * this.#rowsMax + sortedAtOnce) this.#truncate();
    if (this.#bytes <= this.#run.context.spillBytes) return;
    this.#closeChunk();
    await this.#spilled.add(this.#runs);
    const bytes = this.#bytes;
    this.#bytes = 0;
    this.#drop();
    this.#run.releaseDiscarded(bytes);
  }

  /** Makes a sorted run of the chunk. */
  #closeChunk(): void {
    if (this.#chunk.length === 0) return;
    this.#runs.push(this.#chunk.sort(this.#compare));
    this.#chunk = [];
  }

  #hold(bytes: number): void {
    this.#bytes += bytes;
    if (bytes >= 0) this.#run.hold(bytes);
    else this.#run.release(-bytes);
  }

  /** Keeps the first `#rowsMax` rows only. */
  #truncate(): void {
    this.#closeChunk();
    const first = this.#runs.flat().sort(this.#compare).slice(0, this.#rowsMax);
    this.#drop();
    let bytes = 0;
    for (const row of first) bytes += sortableRowBytes(row);
    this.#hold(bytes);
    this.#runs = [first];
    this.#rowCount = first.length;
  }

  #drop(): void {
    this.#runs = [];
    this.#chunk = [];
    this.#rowCount = 0;
    this.#hold(-this.#bytes);
  }

  rows(): AsyncGenerator<Row[]> {
    this.#closeChunk();
    return this.#spilled.merge(this.#runs);
  }

  async close(): Promise<void> {
    this.#drop();
    await this.#spilled.close();
  }
}
