// Mixed DML, DDL and queries under `kill -9`: what was acknowledged at a persistence level is there after each start, and every index
// has exactly the documents. `node test/stress/query-kill.ts [minutes]`, default 30; DIVAN_SEED repeats the order of the statements.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DocumentModel, type DocumentState } from '../support/document-model.ts';
import { administrator, eventuallyWithin, NodeProcess } from '../support/node-process.ts';
import { type Random, randomFrom } from '../support/random.ts';
import { printedSeed } from '../support/seed.ts';

const writers = 3;
const keysOfWriter = 12;
const acksOfRound = 60;
/** How long clean-up and index builds may take after a start. */
const checkMs = 90_000;
const authorization = `Basic ${btoa(`${administrator.username}:${administrator.password}`)}`;
const keyspace = 'shop.s.docs';

/** What each index has: rows of it are compared with the documents. */
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

interface Answer {
  readonly results?: readonly unknown[];
  readonly errors?: readonly { readonly code: number; readonly msg: string }[];
  readonly metrics?: { readonly mutationCount?: number };
}

/** The node ended before it answered: what the statement did is unknown. */
class Unanswered extends Error {}

class KillRun {
  readonly counts: Record<string, number> = {};
  private readonly model = new DocumentModel();
  /** Names that are there, that are not, and (null) of which nobody knows. */
  private readonly known = new Map<IndexName, boolean | null>(indexNames.map((name) => [name, false]));
  private readonly dataDir: string;
  private readonly random: Random;
  private node!: NodeProcess;
  private lastValue = 0;
  private isRunning = false;

  constructor(dataDir: string, random: Random) {
    this.dataDir = dataDir;
    this.random = random;
  }

  async start(): Promise<void> {
    await this.startNode();
    await this.ask('CREATE SCOPE shop.s');
    await this.ask(`CREATE COLLECTION ${keyspace}`);
  }

  async stop(): Promise<void> {
    await this.node?.[Symbol.asyncDispose]();
  }

  /** @throws AssertionError when something is lost, or an index has other rows than there are documents */
  async round(): Promise<void> {
    this.isRunning = true;
    const before = this.count('acknowledged', 0);
    const until = before + this.random(acksOfRound) + 1;
    let failure: unknown;
    const workers = [
      ...Array.from({ length: writers }, (_, writer) => this.write(writer)),
      ...[this.define(), this.query(), this.transact()],
    ].map((worker) =>
      worker.catch((error: unknown) => {
        failure ??= error;
      }),
    );
    while (this.count('acknowledged', 0) < until && failure === undefined)
      await new Promise((resolve) => setTimeout(resolve, 5));
    this.isRunning = false;
    await this.node.stop('SIGKILL');
    this.count('kills');
    await Promise.all(workers);
    if (failure !== undefined) throw failure;
    await this.startNode();
    await this.check();
  }

  private count(what: string, by = 1): number {
    this.counts[what] = (this.counts[what] ?? 0) + by;
    return this.counts[what];
  }

  private async startNode(): Promise<void> {
    const args = ['--services', 'kv,index,n1ql', '--bucket', 'shop'];
    this.node = await NodeProcess.start({ args, dataDir: this.dataDir, startMs: 120_000 });
  }

  // ---------- load

  /** One statement after the other, on keys of its own, until the node is killed. */
  private async write(writer: number): Promise<void> {
    while (this.isRunning) {
      const key = `w${writer}-${this.random(keysOfWriter)}`;
      const keys = this.model.keysOf(`w${writer}-`);
      const n = ++this.lastValue;
      const made: DocumentState = { n, c: n % 3, w: writer, tags: [`t${n % 5}`, `u${n % 2}`] };
      const acts: Readonly<Record<string, () => Promise<void>>> = {
        upsert: () =>
          this.change('upsert', [key], () => made, `UPSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
            $k: key,
            $v: made,
          }),
        insert: () => this.insert(key, made),
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
            (old) => (old ? { ...old, n } : made),
            `MERGE INTO ${keyspace} AS t USING [{"k": $k, "v": $v}] AS s ON KEY s.k WHEN MATCHED THEN UPDATE SET t.n = s.v.n WHEN NOT MATCHED THEN INSERT s.v`,
            { $k: key, $v: made },
          ),
      };
      const names = Object.keys(acts);
      await acts[names[this.random(names.length)] as string]?.();
    }
  }

  private async insert(key: string, made: DocumentState): Promise<void> {
    if (this.model.isThere(key)) return;
    await this.change('insert', [key], () => made, `INSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
      $k: key,
      $v: made,
    });
  }

  /** Acknowledged: all keys have their new states; unanswered: each of them its old one or its new one. */
  private async change(
    kind: string,
    keys: readonly string[],
    next: (old: DocumentState | null) => DocumentState | null,
    statement: string,
    parameters: object,
  ): Promise<void> {
    const doubtful = this.model.begin(keys, next);
    try {
      await this.ask(statement, { ...parameters, durability_level: 'majorityAndPersistActive' });
      doubtful.done();
      this.count('acknowledged');
      this.count(kind);
    } catch (error) {
      if (!(error instanceof Unanswered))
        throw new Error(`${statement} ${JSON.stringify(parameters)}`, { cause: error });
      this.count('unanswered');
    }
  }

  /** Two new documents in one transaction: both, or none, also when it is committed after the next start. */
  private async transact(): Promise<void> {
    while (this.isRunning) {
      const n = ++this.lastValue;
      const made: DocumentState = { n, c: n % 3, w: 9, tags: ['tx'] };
      const pair = [`x${n}-a`, `x${n}-b`] as const;
      const doubtful = this.model.beginTogether(pair, made);
      try {
        const [begun] = (await this.ask('BEGIN WORK', { durability_level: 'majorityAndPersistActive' })) as [
          { txid: string },
        ];
        for (const key of pair)
          await this.ask(`UPSERT INTO ${keyspace} (KEY, VALUE) VALUES ($k, $v)`, {
            $k: key,
            $v: made,
            txid: begun.txid,
          });
        await this.ask('COMMIT', { txid: begun.txid });
        doubtful.done();
        this.count('transactions');
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        this.count('unanswered');
      }
    }
  }

  /** Indexes come and go. */
  private async define(): Promise<void> {
    while (this.isRunning) {
      const name = indexNames[this.random(indexNames.length)] as IndexName;
      const isThere = this.known.get(name) === true;
      const { keys, where } = { where: undefined, ...indexes[name] };
      const create = `CREATE INDEX ${name} ON ${keyspace}(${keys})${where ? ` WHERE ${where}` : ''}`;
      this.known.set(name, null);
      try {
        await this.ask(isThere ? `DROP INDEX ${name} ON ${keyspace}` : create);
        this.known.set(name, !isThere);
        this.count(isThere ? 'indexes dropped' : 'indexes created');
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
      }
    }
  }

  /** Readers meet no error but those of an index or a node that goes. */
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
        const isGone = error instanceof Unanswered || /index/i.test((error as Error).message);
        if (!isGone) throw error;
      }
    }
  }

  // ---------- checks

  private async check(): Promise<void> {
    await eventuallyWithin(checkMs, async () => {
      const found = await this.documents();
      this.model.check(found);
      this.model.settle(found);
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

  /** Each index that was acknowledged is there and has the rows of the documents; a dropped one is gone. */
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
      const wanted = this.known.get(name);
      if (wanted !== null)
        assert.equal(states.has(name), wanted, `${name} ${wanted ? 'is lost' : 'came back'}`);
      this.known.set(name, states.has(name));
      if (!states.has(name)) continue;
      // Again where the clean-up of a lost transaction changed documents in between.
      await eventuallyWithin(checkMs, async () => {
        const rows = (await this.ask(indexes[name].rows, { scan_consistency: 'request_plus' })) as Row[];
        const shown = rows.map((row) => JSON.stringify(row)).sort();
        assert.deepEqual(shown, expectedRows(name, await this.documents()), `rows of ${name}`);
      });
      this.count('indexes compared');
    }
  }

  /** @throws Unanswered when the connection ends, an Error with code and text for a refusal */
  private async ask(statement: string, parameters: object = {}): Promise<readonly unknown[]> {
    let answer: Answer;
    try {
      const response = await fetch(`${this.node.ready.node.query}/query/service`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ statement, ...parameters }),
      });
      answer = (await response.json()) as Answer;
    } catch (error) {
      if (this.node.running && this.isRunning) throw error;
      throw new Unanswered();
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

const needed = [
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

const roundsMax = 30;

/** Ends when `isEnough` says so, at least after one round. */
export async function queryKillRounds(
  isEnough: (rounds: number) => boolean,
  random: Random,
  report: (line: string) => void = () => {},
): Promise<Readonly<Record<string, number>>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'divan-query-kill-'));
  const run = new KillRun(dataDir, random);
  try {
    await run.start();
    let rounds = 0;
    const missing = (): string[] => needed.filter((what) => !run.counts[what]);
    // A short run goes on until each kind of work was done.
    while (rounds === 0 || !isEnough(rounds) || (missing().length > 0 && rounds < roundsMax)) {
      await run.round();
      report(`${++rounds}: ${JSON.stringify(run.counts)}`);
    }
    assert.deepEqual(missing(), [], `not done in ${rounds} rounds`);
    return run.counts;
  } finally {
    await run.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const endMs = performance.now() + Number(process.argv[2] ?? 30) * 60_000;
  await queryKillRounds(() => performance.now() >= endMs, randomFrom(printedSeed(console.log)), console.log);
}
