// The format of a data file: one SQLite database with the shards of one bucket that belong to this file.
//
//   file  header: bucketUuid, incarnation, file (its number in the bucket), generation (rises when a new file replaces it), clean (a
//         CleanFlag), closedBy (the boot ids of the process that closed the file cleanly and of the processes before it without a crash in
//         between; empty while the file is open), commits (how many the file has had)
//   vb    state of each vbucket, written in the transaction of the rows it counts; `copy` is a CopyPhase
//   doc   newest version of each key, tombstones included; `meta` is laid out in row.ts; `val` is null when the
//         value is in `big`
//   big   values above 2,000 bytes, which would make pages of `doc` overflow
//   coll  unused, as are the columns state, bytes and log_* of `vb`: they remain so that the format stays
//
// Integers stay below 2^53, because node:sqlite neither binds nor reads larger ones as numbers: CAS, revisions
// and uuids are big-endian blobs. Format 1 has the same tables, without copy and epoch in the rows
// of `vb`; its rows are written in the present form when they change.

/** "DVAN": distinguishes a data file from any other SQLite file. */
export const applicationId = 0x4456414e;
export const formatVersion = 2;
/** The oldest format that can be opened. */
export const formatVersionMin = 1;
export const pageBytes = 8192;
/** Larger values are stored in `big`. */
export const smallValueMax = 2000;
/** `big.id` is vb * 2^43 + seqno, below 2^53. */
export const bigVbFactor = 2 ** 43;

export const schemaSql = `
create table file(k text primary key, v) without rowid;
create table vb(id integer primary key, state int, copy int, high int, visible int, purge int,
  snap_start int, snap_end int, max_cas blob, max_deleted_rev blob, failover blob, epoch int,
  log_id blob, log_pos int, log_index int, manifest_uid int, items int, deleted int, bytes int,
  checksum int);
create table doc(vb int, key blob, seq int, exp int, del int, meta blob, val blob, primary key(vb, key)) without rowid;
create unique index doc_seq on doc(vb, seq);
create index doc_del on doc(del) where del is not null;
create index doc_exp on doc(exp) where exp > 0 and del is null;
create table big(id integer primary key, val blob);
create table coll(vb int, cid int, start int, ended int, items int, bytes int, primary key(vb, cid)) without rowid;
`;

/** Settings of every connection to a data file. Automatic checkpoints are off: ours run after a commit is acknowledged. */
export const connectionSql = `
pragma synchronous=full;
pragma wal_autocheckpoint=0;
pragma journal_size_limit=16777216;
pragma cell_size_check=on;
`;

/** Settings of a read-only connection. */
export const readerSql = `
pragma query_only=on;
pragma cell_size_check=on;
`;

/**
 * In the order of their seqnos, rows are scattered over the pages of their vbucket: with a cache for some ten thousand rows,
 * each page of the file is read once instead of once a row. `shrinkSql` frees the cache at the end of a vbucket.
 */
export const backfillSql = `${readerSql}
pragma cache_size=-8192;
`;
export const shrinkSql = 'pragma shrink_memory';

const packedColumns = `cast(group_concat(meta || key || ifnull(val, x''), '') as blob),
  group_concat(seq || ',' || ifnull(del, exp) || ',' || length(key) || ',' || ifnull(length(val), -1))`;

export const sql = {
  header: 'select k, v from file',
  setClean: "insert or replace into file values('clean', ?)",
  setClosedBy: "insert or replace into file values('closedBy', ?)",
  setCommits: "insert or replace into file values('commits', ?)",
  putRow: `insert into doc(vb, key, seq, exp, del, meta, val) values(?, ?, ?, ?, ?, ?, ?)
    on conflict(vb, key) do update set seq=excluded.seq, exp=excluded.exp, del=excluded.del, meta=excluded.meta,
    val=excluded.val`,
  putBig: 'insert into big(id, val) values(?, ?)',
  /** Run before a key whose value is in `big` is replaced. */
  dropBig: `delete from big
    where id = (select vb * ${bigVbFactor} + seq from doc where vb = ? and key = ? and val is null)`,
  dropRows: 'delete from doc where vb = ?',
  dropRowsAbove: 'delete from doc where vb = ? and seq > ?',
  dropBigsAbove: 'delete from big where id > ? and id < ?',
  keyOfSeqno: 'select key from doc where vb = ? and seq = ?',
  dropBigs: `delete from big where id >= ? * ${bigVbFactor} and id < (? + 1) * ${bigVbFactor}`,
  dropCollections: 'delete from coll where vb = ?',
  dropState: 'delete from vb where id = ?',
  hasBig: 'select exists(select 1 from big)',
  putVb: `insert into vb(id, high, visible, purge, snap_start, snap_end, max_cas, max_deleted_rev, failover,
    manifest_uid, items, deleted, copy, epoch, checksum) values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict(id) do update set high=excluded.high, visible=excluded.visible, purge=excluded.purge,
    snap_start=excluded.snap_start, snap_end=excluded.snap_end, max_cas=excluded.max_cas,
    max_deleted_rev=excluded.max_deleted_rev, failover=excluded.failover, manifest_uid=excluded.manifest_uid,
    items=excluded.items, deleted=excluded.deleted, copy=excluded.copy, epoch=excluded.epoch,
    checksum=excluded.checksum`,
  vbucketsFrom: `select id, high, purge, max_cas, max_deleted_rev, failover, manifest_uid, items, deleted,
    checksum, snap_start, snap_end, copy, epoch from vb where id >= ? order by id`,
  /**
   * Rows after a key as one blob (meta, key, value of each) and one list of numbers (seqno, expiry or time of deletion,
   * length of the key, length of the value or -1 when it is in `big`). A row with a missing field is left out of one of the two,
   * so that their lengths disagree.
   */
  rowsByKey: `select ${packedColumns}
    from (select key, seq, exp, del, meta, val from doc where vb = ? and key > ? order by key limit ?)`,
  /** Like `rowsByKey`, but the rows after a seqno, in the order of seqnos. */
  rowsBySeqno: `select ${packedColumns}
    from (select key, seq, exp, del, meta, val from doc where vb = ? and seq > ? order by seq limit ?)`,
  /** By the id of the value, which is made of vbucket and seqno. */
  largeRows: `select b.id, d.vb, d.key, d.seq, d.exp, d.del, d.meta, b.val from big b
    cross join doc d on d.vb = b.id / ${bigVbFactor} and d.seq = b.id % ${bigVbFactor}
    where b.id > ? order by b.id limit ?`,
  rowOf: 'select key, seq, exp, del, meta, val from doc where vb = ? and key = ?',
  /** In two statements, because one that compares expiry, vbucket and key does not use the index for the keys of one expiry. */
  expired: `select vb, key, exp from doc where exp > 0 and exp > ? and exp <= ? and del is null
    order by exp, vb, key limit ?`,
  sameExpiry: `select vb, key, exp from doc where exp > 0 and exp = ? and del is null and (vb, key) > (?, ?)
    order by vb, key limit ?`,
  collectionKeys: `select key from doc where vb = ? and key > ? and key < ? and del is null order by key limit ?`,
  vbucketIds: 'select id from vb where id >= ? order by id',
  big: 'select val from big where id = ?',
  /** The number of rows, and the sum of the low words of their seqnos. */
  countBySeqno: 'select count(*), ifnull(sum(seq & 4294967295), 0) from doc indexed by doc_seq where vb = ?',
  /** Vbuckets with rows and no state: found by one index lookup per vbucket. */
  rowsWithoutState: `with recursive v(id) as (select min(vb) from doc
    union all select (select min(vb) from doc where vb > v.id) from v where v.id is not null)
    select id from v where id is not null and id not in (select id from vb)`,
} as const;
