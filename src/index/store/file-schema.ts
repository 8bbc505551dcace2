// Tables of an index file. `entry` is the index; `back` is the back index, which finds a document's rows when the
// document changes; a primary index needs none, since its only key is the document's id.
export const applicationId = 0x44495649; // "DIVI"
/** Incremented when the key format or the tables change: older files are rebuilt. */
export const schemaVersion = 1;

export const pageBytes = 4096;
/** Page cache of a writer, until its share of the memory quota is known. */
export const writerCacheKib = 1024;
export const readerCacheKib = 512;
/** Pages in the write-ahead log at which a commit checkpoints it. */
export const checkpointPages = 2_000;
/** `checkpointPages` of a file whose disk has been full: the logs of several indexes would fill a small disk again. */
export const smallDiskCheckpointPages = 250;
/** The log shrinks to this size once no reader needs it. */
export const logBytesMax = 2 * checkpointPages * pageBytes;

export const schema = `
  create table entry(k blob not null, id blob not null, primary key(k, id)) without rowid;
  create table back(id blob not null, k blob not null, primary key(id, k)) without rowid;
  create table applied(
    vb integer primary key, uuid blob not null, seqno integer not null,
    snapshot_start integer not null, snapshot_end integer not null, complete integer not null);
  create table meta(name text primary key, value) without rowid;
  pragma application_id = ${applicationId};
  pragma user_version = ${schemaVersion};
`;

export const sql = {
  insertEntry: 'insert into entry(k, id) values (?, ?)',
  insertEntryOnce: 'insert or ignore into entry(k, id) values (?, ?)',
  deleteEntry: 'delete from entry where k = ? and id = ?',
  insertBack: 'insert into back(id, k) values (?, ?)',
  deleteBack: 'delete from back where id = ? and k = ?',
  backOf: 'select k from back where id = ?',
  putApplied: `insert into applied values (?, ?, ?, ?, ?, ?) on conflict(vb) do update set
    uuid = excluded.uuid, seqno = excluded.seqno, snapshot_start = excluded.snapshot_start,
    snapshot_end = excluded.snapshot_end, complete = excluded.complete`,
  applied: 'select vb, uuid, seqno, snapshot_start, snapshot_end, complete from applied',
  damagedRows: `select (select count(*) from entry) <> (select count(*) from back) or exists (
    select 1 from entry where not exists (select 1 from back where back.id = entry.id and back.k = entry.k))`,
  damagedPrimaryRows: 'select exists (select 1 from entry where not is_key_of(k, id))',
  entryPage: `select k as a, id as b, exists (select 1 from back where back.id = entry.id and back.k = entry.k)
    as isThere from entry where (k, id) > (?, ?) order by k, id limit ?`,
  backPage: `select id as a, k as b, exists (select 1 from entry where entry.k = back.k and entry.id = back.id)
    as isThere from back where (id, k) > (?, ?) order by id, k limit ?`,
  primaryPage:
    'select k as a, id as b, 1 as isThere from entry where (k, id) > (?, ?) order by k, id limit ?',
  putMeta: 'insert into meta values (?, ?) on conflict(name) do update set value = excluded.value',
  meta: 'select value from meta where name = ?',
  // SQLite sorts the rows of a build, so that it writes each page of the tables once.
  createStage: 'create temp table if not exists stage(k blob, id blob)',
  entriesOfStage: 'insert into entry select k, id from stage order by k, id',
  backOfStage: 'insert into back select id, k from stage order by id, k',
  clearStage: 'delete from stage',
} as const;

/** Rows of one insert into the stage: one call for several rows is faster. */
export const stageRows = 16;
export const insertStage = (rows: number): string =>
  `insert into stage values ${Array.from({ length: rows }, () => '(?, ?)').join(', ')}`;
