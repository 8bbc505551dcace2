// The form of a role: its parameters, published name, and ordered permission patterns. The first pattern that
// matches an object decides for the role, whatever follows. Roles and patterns are those of the published interface (compatibility 7.1),
// with the document operations that later published releases check: range scans and system collections.
//
// In a pattern `b`, `s` and `c` stand for the role's own bucket, scope and collection, `.` for any. A pattern matches the
// object it names and everything below it.

export type RoleLevel = 'cluster' | 'bucket' | 'scope' | 'collection';

export interface RoleDefinition {
  readonly id: string;
  readonly level: RoleLevel;
  readonly name: string;
  readonly description: string;
  /** True if the published community edition has this role, and not only the enterprise edition. */
  readonly community: boolean;
  readonly patterns: readonly Pattern[];
}

/** Object below `cluster` and operations: `all`, `none`, or names. */
export type Pattern = readonly [object: string, operations: string];

export type NameAndDescription = readonly [name: string, description: string];

export const define =
  (level: RoleLevel, community: boolean) =>
  (id: string, [name, description]: NameAndDescription, patterns: readonly Pattern[]): RoleDefinition => ({
    id,
    level,
    name,
    description,
    community,
    patterns,
  });

export const cluster = define('cluster', false);
export const bucket = define('bucket', false);
export const scope = define('scope', false);
export const collection = define('collection', false);

/** Patterns that deny all operations on these objects. */
export const none = (...objects: string[]): Pattern[] => objects.map((object) => [object, 'none']);

/** Permissions that several roles contain. */
export const seesBucket: readonly Pattern[] = [
  ['bucket[b].settings', 'read'],
  ['pools', 'read'],
];
export const seesPools: readonly Pattern[] = [['pools', 'read']];
export const seesConsole: readonly Pattern[] = [['ui', 'read'], ...seesPools];
/** Permissions of the query and search roles. */
export const queryAndSearch: readonly Pattern[] = [['bucket[b].settings', 'read'], ...seesConsole];
export const noBucketData = none(
  'bucket[.].data',
  'bucket[.].views',
  'bucket[.].n1ql',
  'bucket[.].fts',
  'bucket[.].analytics',
);
export const docs = 'collection[b:s:c].data.docs';
export const bucketDocs = 'bucket[b].data.docs';
/** Operations on documents; those in system collections are only read. */
export const allButSystemWrites = 'read insert delete upsert range_scan sread';
