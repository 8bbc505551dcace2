// Copies the live rows of a data file into its next generation, a page at a time, while the file takes commits. First it copies each
// vbucket by key; then, in passes, later commits. Rows are copied byte for byte, checksums included, so that the
// copy neither hides nor causes damage.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { syncPath } from '#ports/sync-path.ts';
import { type PurgedVbucket, purgedRecord } from '../../data/disk-engine.ts';
import { bigVbFactor, pageBytes, sql } from '../schema.ts';
import { readVbRow, stateOf, vbRow } from '../vb-row.ts';
import { CleanFlag, type DataFileSpec } from './file-format.ts';

/** Page size: a read transaction of the copy delays a checkpoint, and on the same disk commits wait for it. */
const pageTargetMs = 15;
const rowsPerPage = { first: 500, min: 500, max: 10_000 };
/** Bytes between two syncs: one sync at the end would stall commits. */
const syncBytes = 32 * 1024 * 1024;
/** When fewer seqnos than this are left, the rest is copied between two commits. */
const restSeqnosMax = 2_000;
/** Limit of passes; when commits outrun the copy, the last pass runs between two commits. */
const passesMax = 12;
/** A pass that has more than this share of the one before shows that commits outrun the copy. */
const outrunShare = 0.75;
/** Page cache of the copy, in KiB. */
const cacheKib = 16_000;
/** A key above every key. */
const lastKey = Buffer.alloc(512, 0xff);
const firstKey = Buffer.alloc(0);

const keptCondition = '(del is null or del >= ? or seq > ?)';
const copySql = {
  vbuckets: 'select id, high from old.vb order by id',
  high: 'select high from old.vb where id = ?',
  rowCount: 'select sum(items + deleted) from old.vb',
  hasBig: 'select exists(select 1 from old.big)',
  anyCopiedBig: 'select exists(select 1 from main.big)',
  anyOld: 'select exists(select 1 from old.doc indexed by doc_del where del is not null and del < ?)',
  keyBound: 'select key from old.doc where vb = ? and key > ? order by key limit 1 offset ?',
  seqnoBound: 'select seq from old.doc where vb = ? and seq > ? order by seq limit 1 offset ?',
  copyKeys: `insert into main.doc select vb, key, seq, exp, del, meta, val from old.doc
    where vb = ? and key > ? and key <= ? and ${keptCondition} order by key`,
  /** How many rows the copy leaves out, their highest seqno, and how many of them are system events (their keys are in collection 1). */
  dropped: `select count(*), max(seq), total(key >= x'01' and key < x'02') from old.doc not indexed where vb = ? and key > ? and key <= ? and not ${keptCondition}`,
  bigByKey: `select vb * ${bigVbFactor} + seq from main.doc where vb = ? and key > ? and key <= ? and val is null`,
  /** Values in `big` of versions that the next statement replaces. */
  dropBigs: `delete from main.big where id in (select d.vb * ${bigVbFactor} + d.seq from old.doc o
    cross join main.doc d on d.vb = o.vb and d.key = o.key
    where o.vb = ? and o.seq > ? and o.seq <= ? and d.val is null)`,
  copySeqnos: `insert or replace into main.doc select vb, key, seq, exp, del, meta, val from old.doc
    where vb = ? and seq > ? and seq <= ? order by seq`,
  bigBySeqno: `select vb * ${bigVbFactor} + seq from main.doc where vb = ? and seq > ? and seq <= ? and val is null`,
  copyBig: 'insert or replace into main.big select id, val from old.big where id = ?',
  countBySeqno: 'select count(*) from old.doc indexed by doc_seq where vb = ?',
  pageCount: 'pragma main.page_count',
  copyStates: 'insert into main.vb select * from old.vb',
  copyCollections: 'insert into main.coll select * from old.coll',
  /** A row of format 1 gets the present form. */
  setPurged: `update main.vb set purge = ?, deleted = ?, snap_start = ?, snap_end = ?, copy = ?, epoch = ?, checksum = ?
    where id = ?`,
} as const;

/** Progress of a copy, from which another connection can continue it. */
export interface CopyState {
  /** By vbucket, the seqno up to which its rows are copied. */
  positions: [number, number][];
  purged: PurgedVbucket[];
}

export interface CopyStep {
  rowsCopied: number;
  /** An estimate, from the counts in the file. */
  rowsTotal: number;
  isFinished: boolean;
  /** The last pass over later commits had hardly less to copy than the one before. */
  isOutrun: boolean;
}

export class FileCopy {
  private readonly target: DataFileSpec;
  private readonly db: DatabaseSync;
  private readonly statements = new Map<string, StatementSync>();
  private readonly purgeBeforeSeconds: number;
  private readonly monotonicMs: () => number;
  private readonly positions: Map<number, number>;
  private readonly purged: Map<number, PurgedVbucket>;
  /** Vbuckets whose rows are still to be copied by key. */
  private readonly waiting: number[];
  /** The vbucket that is being copied by key. */
  private current: { vb: number; afterKey: Uint8Array; rows: number; hasBig: boolean } | null = null;
  /** Ids of large values whose rows are copied. */
  private bigIds: number[] = [];
  /** Rows of one page; adapted to the time that a page takes. */
  private pageRows = rowsPerPage.first;
  /** Vbuckets with commits since they were copied, with the seqno up to which this pass copies them, and the number of passes. */
  private behind: [number, number][] = [];
  private passes = 0;
  /** How many seqnos the present pass had to copy when it began. */
  private passSeqnos = Infinity;
  private isOutrun = false;
  private rowsCopied = 0;
  private readonly rowsTotal: number;
  private syncedPages = 0;

  constructor(options: {
    sourcePath: string;
    target: DataFileSpec;
    purgeBeforeSeconds: number;
    monotonicMs: () => number;
    /** Continues where another copy into the same file stopped. */
    state?: CopyState;
  }) {
    this.target = options.target;
    this.monotonicMs = options.monotonicMs;
    this.db = new DatabaseSync(options.target.path);
    this.positions = new Map(options.state?.positions);
    this.purged = new Map(options.state?.purged.map((entry) => [entry.vb, entry]));
    try {
      this.attach(options.sourcePath);
      this.waiting = options.state ? [] : this.vbuckets().map(([vb]) => vb);
      this.rowsTotal = this.number('rowCount') ?? 0;
      const hasOldTombstones = this.number('anyOld', options.purgeBeforeSeconds) === 1;
      this.purgeBeforeSeconds = hasOldTombstones ? options.purgeBeforeSeconds : 0;
    } catch (error) {
      this.statements.clear();
      this.db.close();
      throw error;
    }
  }

  private attach(sourcePath: string): void {
    // The new file is not read before it is complete and synced: until then it needs neither a write-ahead log nor locks.
    this.db.exec(`pragma main.journal_mode=off; pragma main.synchronous=off; pragma main.locking_mode=exclusive;
      pragma main.cache_size=-${cacheKib}; pragma cell_size_check=on;`);
    this.db.prepare('attach ? as old').run(sourcePath);
  }

  /** Copies one page. */
  step(): CopyStep {
    const startedMs = this.monotonicMs();
    let isFinished = false;
    if (this.bigIds.length > 0) this.copyBigs(startedMs);
    else if (this.current !== null || this.waiting.length > 0) this.copyByKey();
    else isFinished = this.catchUp(restSeqnosMax, startedMs);
    this.adaptPageSize(this.monotonicMs() - startedMs);
    this.syncIfDue();
    const { rowsCopied, rowsTotal, isOutrun } = this;
    return { rowsCopied, rowsTotal: Math.max(rowsCopied, rowsTotal), isFinished, isOutrun };
  }

  /** Closes this connection. Another one continues from the returned state. */
  suspend(): CopyState {
    this.close();
    return { positions: [...this.positions], purged: [...this.purged.values()] };
  }

  /** Copies everything that is left and makes the new file ready to be opened. No commit may run meanwhile. */
  finish(): PurgedVbucket[] {
    do {
      while (this.bigIds.length > 0) this.copyBigs(this.monotonicMs());
    } while (!this.catchUp(0, this.monotonicMs()) || this.bigIds.length > 0);
    this.db.exec('begin');
    this.db.exec(copySql.copyStates);
    this.db.exec(copySql.copyCollections);
    this.writePurged();
    this.db.prepare(sql.setClean).run(CleanFlag.open);
    this.db.exec('commit; detach old; pragma main.locking_mode=normal; pragma main.journal_mode=wal;');
    this.close();
    return [...this.purged.values()];
  }

  /** Cancels the copy; the caller removes its file. */
  close(): void {
    if (!this.db.isOpen) return;
    this.statements.clear();
    this.db.close();
    syncPath(this.target.path);
  }

  private copyByKey(): void {
    const current = (this.current ??= this.beginVbucket(this.waiting.shift() as number));
    this.db.exec('begin');
    const from = current.afterKey;
    const bound = this.value('keyBound', current.vb, from, this.pageRows - 1) as Uint8Array | undefined;
    const to = bound ?? lastKey;
    const keepBounds = [this.purgeBeforeSeconds, this.positions.get(current.vb) ?? 0] as const;
    const copied = Number(this.statement('copyKeys').run(current.vb, from, to, ...keepBounds).changes);
    const dropped = this.purgeBeforeSeconds > 0 ? this.recordDropped(current.vb, from, to, keepBounds) : 0;
    this.rowsCopied += copied;
    current.rows += copied + dropped;
    current.afterKey = to;
    if (current.hasBig) this.bigIds = this.numbers('bigByKey', current.vb, from, to);
    if (bound === undefined) this.endVbucket(current);
    this.db.exec('commit');
  }

  private beginVbucket(vb: number) {
    this.positions.set(vb, this.number('high', vb) ?? 0);
    return { vb, afterKey: firstKey, rows: 0, hasBig: this.number('hasBig') === 1 };
  }

  /** Checked within the last page's transaction: without commits in between, seqno order and key order must have the same rows. */
  private endVbucket({ vb, rows }: { vb: number; rows: number }): void {
    this.current = null;
    if (this.number('high', vb) !== this.positions.get(vb)) return;
    const bySeqno = this.number('countBySeqno', vb);
    if (bySeqno === rows) return;
    throw new Error(`vbucket ${vb} has ${rows} rows by key, ${bySeqno} by seqno`);
  }

  private recordDropped(
    vb: number,
    from: Uint8Array,
    to: Uint8Array,
    keepBounds: readonly [number, number],
  ): number {
    const [rows, seqno, events] = this.row('dropped', vb, from, to, ...keepBounds) as [
      number,
      number | null,
      number,
    ];
    if (seqno === null) return 0;
    const before = this.purged.get(vb);
    this.purged.set(vb, {
      vb,
      upToSeqno: keepBounds[1],
      purgeSeqno: Math.max(before?.purgeSeqno ?? 0, seqno),
      tombstones: (before?.tombstones ?? 0) + rows - events,
    });
    return rows;
  }

  /** Copies one page of later commits: of many vbuckets, if each has few. True when the passes are done. */
  private catchUp(remainingMax: number, startedMs: number): boolean {
    if (this.behind.length === 0 && !this.beginPass(remainingMax)) return true;
    this.db.exec('begin');
    do this.copyBySeqno(...(this.behind.pop() as [number, number]));
    while (this.behind.length > 0 && this.monotonicMs() - startedMs < pageTargetMs);
    this.db.exec('commit');
    return false;
  }

  /** False when no more than `remainingMax` seqnos are left. Each pass leaves less, unless commits outrun the copy. */
  private beginPass(remainingMax: number): boolean {
    const lagOf = ([vb, high]: [number, number]): number => high - (this.positions.get(vb) ?? 0);
    const lagging = this.vbuckets().filter((vbucket) => lagOf(vbucket) > 0);
    const remaining = lagging.reduce((sum, vbucket) => sum + lagOf(vbucket), 0);
    if (remaining <= remainingMax || (remainingMax > 0 && this.passes >= passesMax)) return false;
    this.passes++;
    this.isOutrun ||= remaining > outrunShare * this.passSeqnos;
    this.passSeqnos = remaining;
    this.behind = lagging;
    return true;
  }

  /** Copies no seqno above `high`: a pass over a vbucket that is written steadily would not end. */
  private copyBySeqno(vb: number, high: number): void {
    const after = this.positions.get(vb) ?? 0;
    const bound = this.value('seqnoBound', vb, after, this.pageRows - 1) as number | undefined;
    const to = Math.min(bound ?? high, high);
    if (this.number('anyCopiedBig') === 1) this.statement('dropBigs').run(vb, after, to);
    this.statement('copySeqnos').run(vb, after, to);
    if (this.number('hasBig') === 1) this.bigIds.push(...this.numbers('bigBySeqno', vb, after, to));
    this.positions.set(vb, to);
    if (to < high) this.behind.push([vb, high]);
  }

  /** A missing value belongs to a version that was replaced: the newer version is copied later, with its value. */
  private copyBigs(startedMs: number): void {
    const copy = this.statement('copyBig');
    this.db.exec('begin');
    do copy.run(this.bigIds.pop() as number);
    while (this.bigIds.length > 0 && this.monotonicMs() - startedMs < pageTargetMs);
    this.db.exec('commit');
  }

  private writePurged(): void {
    for (const entry of this.purged.values()) {
      const row = this.arrays(sql.vbucketsFrom).get(entry.vb) as unknown as unknown[] | undefined;
      const record = row && readVbRow(row);
      if (!record) throw new Error(`the state of vbucket ${entry.vb} differs from its checksum`);
      const changed = purgedRecord(record, entry);
      const checksum = vbRow(stateOf(changed)).at(-1) as number;
      const { purgeSeqno, deleted, snapStart, snapEnd, copy, epoch } = changed;
      const columns = [purgeSeqno, deleted, snapStart, snapEnd, copy, epoch, checksum];
      this.statement('setPurged').run(...columns, entry.vb);
    }
  }

  private adaptPageSize(tookMs: number): void {
    if (tookMs > 2 * pageTargetMs) this.pageRows = Math.max(rowsPerPage.min, this.pageRows >> 1);
    else if (tookMs < pageTargetMs / 2) this.pageRows = Math.min(rowsPerPage.max, this.pageRows * 2);
  }

  private syncIfDue(): void {
    const pages = this.number('pageCount') as number;
    if ((pages - this.syncedPages) * pageBytes < syncBytes) return;
    this.syncedPages = pages;
    syncPath(this.target.path);
  }

  private vbuckets(): [number, number][] {
    return this.statement('vbuckets').all() as unknown as [number, number][];
  }

  private number(name: keyof typeof copySql, ...values: (number | Uint8Array)[]): number | undefined {
    const value = this.value(name, ...values);
    return typeof value === 'number' ? value : undefined;
  }

  private numbers(name: keyof typeof copySql, ...values: (number | Uint8Array)[]): number[] {
    return (this.statement(name).all(...values) as unknown as [number][]).map(([id]) => id);
  }

  private value(name: keyof typeof copySql, ...values: (number | Uint8Array)[]): unknown {
    return this.row(name, ...values)?.[0];
  }

  private row(name: keyof typeof copySql, ...values: (number | Uint8Array)[]): unknown[] | undefined {
    return this.statement(name).get(...values) as unknown as unknown[] | undefined;
  }

  private statement(name: keyof typeof copySql): StatementSync {
    return this.arrays(copySql[name]);
  }

  /** Returns the statement's rows as arrays. */
  private arrays(text: string): StatementSync {
    const prepared = this.statements.get(text);
    if (prepared) return prepared;
    const statement = this.db.prepare(text);
    statement.setReturnArrays(true);
    this.statements.set(text, statement);
    return statement;
  }
}
