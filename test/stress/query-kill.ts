// Mixed DML, DDL and queries under `kill -9`: after each start all changes that were acknowledged at a persistence level exist, and each
// index has the rows of exactly the documents that exist. `node test/stress/query-kill.ts [minutes]`, default 30; DIVAN_SEED repeats the
// order of the statements.
import assert from 'node:assert/strict';
import { DocumentModel, type DocumentState } from '../support/document-model.ts';
import { eventuallyWithin } from '../support/node-process.ts';
import type { QueryAnswer } from '../support/query-client.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { RestartedNode } from '../support/restarted-node.ts';
import { printedSeed } from '../support/seed.ts';

const writers = 3;
const keysOfWriter = 12;
const acksOfRound = 60;
/** How long clean-up and index builds may take after a start. */
const checkMs = 180_000;
const keyspace = 'shop.s.docs';

/** Each index, and the statement whose rows are compared with the documents. */
const indexes = {
  by_n: { keys: 'n', rows: `SELECT META(d).id, d.n FROM ${keyspace} AS d USE INDEX (by_n) WHERE d.n >= 0` },
  by_wc: {
    keys: 'w, c',
    rows: `SELECT META(d).id, d.c FROM ${keyspace} AS d USE INDEX (by_wc) WHERE d.w >= 0`,
  },
  by_tag: {
    keys: 'DISTINCT tags',
    rows: `SELECT META(d).id, d.n FROM ${keyspace} AS d USE INDEX (by_tag) WHERE ANY t IN d.tags SATISFIES t >= "" END`,
  },
  part: {
    keys: 'n DESC',
    where: 'c = 1',
    rows: `SELECT META(d).id, d.n FROM ${keyspace} AS d USE INDEX (part) WHERE d.c = 1 AND d.n >= 0`,
  },
} as const;
type IndexName = keyof typeof indexes;
const indexNames = Object.keys(indexes) as IndexName[];

type Row = Readonly<Record<string, unknown>>;

/** The node ended before it answered: what the statement did is unknown. */
class UnansweredError extends Error {}

class KillRun {
  readonly counts: Record<string, number> = {};
  private readonly model = new DocumentModel();
  /** Whether each index exists; null after a statement without an answer. */
  private readonly indexExists = new Map<IndexName, boolean | null>(indexNames.map((name) => [name, false]));
  private readonly node = new RestartedNode('shop');
  private readonly random: Random;
  private lastValue = 0;
  private isRunning = false;

  constructor(random: Random) {
    this.random = random;
  }

  async start(): Promise<void> {
    await this.node.start();
    await this.ask('CREATE SCOPE shop.s');
    await this.ask(`CREATE COLLECTION ${keyspace}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
  }

  /** @throws AssertionError when something is lost, or an index has other rows than there are documents */
  async round(): Promise<void> {
    this.isRunning = true;
    const isEnough = this.endOfRound();
    let failure: unknown;
    const workers = [
      ...Array.from({ length: writers }, (_, writer) => this.write(writer)),
      this.changeIndexes(),
      this.query(),
      this.transact(),
    ].map((worker) =>
      worker.catch((error: unknown) => {
        failure ??= error;
      }),
    );
    const { process: node } = this.node;
    while (!isEnough() && failure === undefined && node.running)
      await new Promise((resolve) => setTimeout(resolve, 5));
    if (!node.running) failure ??= new Error('the node ended by itself');
    this.isRunning = false;
    await this.node.process.stop('SIGKILL');
    this.count('kills');
    await Promise.all(workers);
    if (failure !== undefined) throw failure;
    await this.node.start();
    await this.check();
  }

  /**
   * A round ends after some acknowledged statements. They are faster than an index, so the first round and a third of the others end
   * with the acknowledgement of an index.
   */
  private endOfRound(): () => boolean {
    const isForIndex = this.count('kills', 0) === 0 || this.random(3) === 0;
    const what = isForIndex ? 'indexes created' : 'acknowledged';
    const enough = this.count(what, 0) + (isForIndex ? 1 : 1 + this.random(acksOfRound));
    return () => this.count(what, 0) >= enough;
  }

  private count(what: string, by = 1): number {
    this.counts[what] = (this.counts[what] ?? 0) + by;
    return this.counts[what];
  }

  // ---------- load

  /** Runs one statement after the other, on its own keys, until the node is killed. */
  private async write(writer: number): Promise<void> {
    while (this.isRunning) {
      const key = `w${writer}-${this.random(keysOfWriter)}`;
      const keys = this.model.keysOf(`w${writer}-`);
      const n = ++this.lastValue;
      const state: DocumentState = { n, c: n % 3, w: writer, tags: [`t${n % 5}`, `u${n % 2}`] };
      const actions: Readonly<Record<string, () => Promise<void>>> = {
        upsert: () =>
          this.change('upsert', [key], () => state, `UPSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
            $k: key,
            $v: state,
          }),
        insert: () => this.insert(key, state),
        update: () =>
          this.change(
            'update',
            [key],
            (old) => old && { ...old, n },
            `UPDATE ${keyspace} USE KEYS $k SET n = $n`,
            { $k: key, $n: n },
          ),
        'update all': () =>
          this.change(
            'update all',
            keys,
            (old) => old && { ...old, c: n % 3 },
            `UPDATE ${keyspace} SET c = $c WHERE META().id LIKE $p`,
            {
              $c: n % 3,
              $p: `w${writer}-%`,
            },
          ),
        delete: () =>
          this.change('delete', [key], () => null, `DELETE FROM ${keyspace} USE KEYS $k`, { $k: key }),
        merge: () =>
          this.change(
            'merge',
            [key],
            (old) => (old ? { ...old, n } : state),
            `MERGE INTO ${keyspace} AS t USING [{"k": $k, "v": $v}] AS s ON KEY s.k WHEN MATCHED THEN UPDATE SET t.n = s.v.n WHEN NOT MATCHED THEN INSERT s.v`,
            { $k: key, $v: state },
          ),
      };
      const names = Object.keys(actions);
      await actions[names[this.random(names.length)] as string]?.();
    }
  }

  private async insert(key: string, state: DocumentState): Promise<void> {
    if (this.model.mayExist(key)) return;
    await this.change('insert', [key], () => state, `INSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
      $k: key,
      $v: state,
    });
  }

  /** Runs a statement. If the node acknowledges it, all keys must have their new states; if not, each its old or its new one. */
  private async change(
    kind: string,
    keys: readonly string[],
    next: (old: DocumentState | null) => DocumentState | null,
    statement: string,
    parameters: Record<string, unknown>,
  ): Promise<void> {
    const pending = this.model.begin(keys, next);
    try {
      await this.ask(statement, { ...parameters, durability_level: 'majorityAndPersistActive' });
      pending.done();
      this.count('acknowledged');
      this.count(kind);
    } catch (error) {
      if (!(error instanceof UnansweredError))
        throw new Error(`${statement} ${JSON.stringify(parameters)}`, { cause: error });
      this.count('unanswered');
    }
  }

  /** Writes two new documents in each transaction: both must exist, or none, also if only the next start commits it. */
  private async transact(): Promise<void> {
    while (this.isRunning) {
      const n = ++this.lastValue;
      const state: DocumentState = { n, c: n % 3, w: 9, tags: ['tx'] };
      const pair = [`x${n}-a`, `x${n}-b`] as const;
      const pending = this.model.beginTogether(pair, state);
      try {
        const [begun] = (await this.ask('BEGIN WORK', { durability_level: 'majorityAndPersistActive' })) as [
          { txid: string },
        ];
        for (const key of pair)
          await this.ask(`UPSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
            $k: key,
            $v: state,
            txid: begun.txid,
          });
        await this.ask('COMMIT', { txid: begun.txid });
        pending.done();
        this.count('transactions');
      } catch (error) {
        if (!(error instanceof UnansweredError)) throw error;
        this.count('unanswered');
      }
    }
  }

  /** Creates and drops indexes. */
  private async changeIndexes(): Promise<void> {
    while (this.isRunning) {
      const name = indexNames[this.random(indexNames.length)] as IndexName;
      const isThere = this.indexExists.get(name) === true;
      const { keys, where } = { where: undefined, ...indexes[name] };
      const create = `CREATE INDEX ${name} ON ${keyspace}(${keys})${where ? ` WHERE ${where}` : ''}`;
      this.indexExists.set(name, null);
      try {
        await this.ask(isThere ? `DROP INDEX ${name} ON ${keyspace}` : create);
        this.indexExists.set(name, !isThere);
        this.count(isThere ? 'indexes dropped' : 'indexes created');
      } catch (error) {
        if (!(error instanceof UnansweredError)) throw error;
      }
    }
  }

  /** Reads, and accepts only errors that a dropped index or a killed node causes. */
  private async query(): Promise<void> {
    const texts = [
      `SELECT w, COUNT(*) AS n, MAX(n) AS m FROM ${keyspace} GROUP BY w ORDER BY w`,
      `SELECT n FROM ${keyspace} WHERE n > 5 ORDER BY n DESC LIMIT 5`,
      `SELECT RAW t FROM ${keyspace} AS d UNNEST d.tags AS t WHERE t >= "t"`,
    ];
    while (this.isRunning) {
      const text = texts[this.random(texts.length)] as string;
      try {
        await this.ask(text, { scan_consistency: this.random(2) ? 'request_plus' : 'not_bounded' });
        this.count('queries');
      } catch (error) {
        const isExpected = error instanceof UnansweredError || /index/i.test((error as Error).message);
        if (!isExpected) throw error;
      }
    }
  }

  // ---------- checks

  private async check(): Promise<void> {
    await eventuallyWithin(checkMs, async () => {
      const found = await this.documents();
      this.model.check(found);
      this.model.resolve(found);
    });
    await this.checkIndexes();
  }

  private async documents(): Promise<Map<string, DocumentState>> {
    const keys = this.model.keysOf('');
    const rows = (await this.ask(`SELECT META(d).id AS k, d AS v FROM ${keyspace} AS d USE KEYS $keys`, {
      $keys: keys,
    })) as {
      k: string;
      v: DocumentState;
    }[];
    return new Map(rows.map(({ k, v }) => [k, v]));
  }

  /** Each acknowledged index exists and has the rows of the documents; a dropped one does not exist. */
  private async checkIndexes(): Promise<void> {
    const states = await eventuallyWithin(checkMs, async () => {
      const found = (await this.ask('SELECT name, state FROM system:indexes WHERE keyspace_id = "docs"')) as {
        name: IndexName;
        state: string;
      }[];
      for (const { name, state } of found) assert.equal(state, 'online', `${name} is ${state}`);
      return new Set(found.map(({ name }) => name));
    });
    for (const name of indexNames) {
      const wanted = this.indexExists.get(name);
      if (wanted !== null)
        assert.equal(states.has(name), wanted, `${name} ${wanted ? 'is lost' : 'came back'}`);
      this.indexExists.set(name, states.has(name));
      if (!states.has(name)) continue;
      // Repeated, since the clean-up of a lost transaction may change documents in between.
      await eventuallyWithin(checkMs, async () => {
        const rows = (await this.ask(indexes[name].rows, { scan_consistency: 'request_plus' })) as Row[];
        const shown = rows.map((row) => JSON.stringify(row)).sort();
        assert.deepEqual(shown, expectedRows(name, await this.documents()), `rows of ${name}`);
      });
      this.count('indexes compared');
    }
  }

  /** @throws UnansweredError when the connection ends, an Error with code and text for a refusal */
  private async ask(
    statement: string,
    parameters: Record<string, unknown> = {},
  ): Promise<readonly unknown[]> {
    let answer: QueryAnswer;
    try {
      answer = await this.node.queries.ask(statement, parameters);
    } catch (error) {
      if (this.node.process.running && this.isRunning) throw error;
      throw new UnansweredError();
    }
    if (answer.errors) throw new Error(answer.errors.map(({ code, msg }) => `${code} ${msg}`).join('; '));
    return answer.results ?? [];
  }
}

function expectedRows(name: IndexName, documents: ReadonlyMap<string, DocumentState>): string[] {
  return [...documents]
    .filter(([, { c }]) => name !== 'part' || c === 1)
    .map(([id, { n, c }]) => JSON.stringify(name === 'by_wc' ? { c, id } : { id, n }))
    .sort();
}

/** Each kind of work that a run must have done at least once. */
const requiredWork = [
  'acknowledged',
  'kills',
  'upsert',
  'update',
  'delete',
  'merge',
  'indexes created',
  'queries',
  'indexes compared',
];

/** A run that is long enough makes further rounds until all required work is done, but no more than this number of rounds together. */
const roundsMax = 30;

/** Ends when `isEnough` returns true, at the earliest after one round. */
export async function queryKillRounds(
  isEnough: (rounds: number) => boolean,
  random: Random,
  report: (line: string) => void = () => {},
): Promise<Readonly<Record<string, number>>> {
  await using run = new KillRun(random);
  await run.start();
  let rounds = 0;
  const missing = (): string[] => requiredWork.filter((what) => !run.counts[what]);
  // A short run continues until each kind of work was done.
  while (rounds === 0 || !isEnough(rounds) || (missing().length > 0 && rounds < roundsMax)) {
    await run.round();
    report(`${++rounds}: ${JSON.stringify(run.counts)}`);
  }
  assert.deepEqual(missing(), [], `not done in ${rounds} rounds`);
  return run.counts;
}

if (import.meta.main) {
  const endMs = performance.now() + Number(process.argv[2] ?? 30) * 60_000;
  await queryKillRounds(() => performance.now() >= endMs, randomFrom(printedSeed(console.log)), console.log);
}
