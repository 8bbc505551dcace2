// Migrations in order. A released migration is never changed.
import { type Kysely, PostgresAdapter, sql } from 'kysely';
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration';
import type { StoreChecksums } from './state.ts';
import type { Store } from './tables.ts';

// biome-ignore lint/suspicious/noExplicitAny: a migration knows the tables of its time, not those of today
type AnyStore = Kysely<any>;

const firstSchema: Migration = {
  async up(db: AnyStore) {
    await db.schema
      .createTable('facts')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('value', 'text', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('clouds')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull().unique())
      .addColumn('provider', 'text', (c) => c.notNull())
      .addColumn('region', 'text', (c) => c.notNull())
      .addColumn('cidr', 'text', (c) => c.notNull())
      .addColumn('status', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('members')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('email', 'text', (c) => c.notNull().unique())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('projects')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('tokens')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('token_hash', 'text', (c) => c.notNull().unique())
      .addColumn('access_key', 'text', (c) => c.notNull().unique())
      .addColumn('secret_sealed', 'text', (c) => c.notNull())
      .addColumn('role', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text')
      .addColumn('origin', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint')
      .addColumn('revoked_at', 'bigint')
      .addColumn('last_used_at', 'bigint')
      .execute();
    await db.schema
      .createTable('clusters')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('environment', 'text', (c) => c.notNull())
      .addColumn('name', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text', (c) => c.notNull().references('projects.id'))
      .addColumn('cloud_id', 'text', (c) => c.references('clouds.id'))
      .addColumn('description', 'text', (c) => c.notNull())
      .addColumn('spec', 'text', (c) => c.notNull())
      .addColumn('node_count', 'integer', (c) => c.notNull())
      .addColumn('phase', 'text', (c) => c.notNull())
      .addColumn('home', 'text', (c) => c.notNull())
      .addColumn('administrator_sealed', 'text', (c) => c.notNull())
      .addColumn('certificate', 'text')
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addColumn('deployed_at', 'bigint')
      .execute();
    await db.schema
      .createTable('nodes')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('cluster_id', 'text', (c) => c.notNull().references('clusters.id'))
      .addColumn('position', 'integer', (c) => c.notNull())
      .addColumn('memory_mb', 'integer', (c) => c.notNull())
      .addColumn('services', 'text', (c) => c.notNull())
      .addColumn('address', 'text', (c) => c.notNull())
      .addColumn('ports', 'text', (c) => c.notNull())
      .addColumn('home', 'text', (c) => c.notNull())
      .addUniqueConstraint('nodes_of_cluster', ['cluster_id', 'position'])
      .execute();
    await db.schema
      .createTable('operations')
      .addColumn('id', 'text', (c) => c.primaryKey())
      .addColumn('cluster_id', 'text', (c) => c.notNull())
      .addColumn('project_id', 'text', (c) => c.notNull())
      .addColumn('kind', 'text', (c) => c.notNull())
      .addColumn('step', 'text', (c) => c.notNull())
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('attempts', 'integer', (c) => c.notNull())
      .addColumn('last_error', 'text')
      .addColumn('home', 'text', (c) => c.notNull())
      .addColumn('owner', 'text')
      .addColumn('lease_until', 'bigint', (c) => c.notNull())
      .addColumn('next_at', 'bigint', (c) => c.notNull())
      .addColumn('deadline', 'bigint', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .execute();
    await db.schema
      .createTable('database_users')
      .addColumn('cluster_id', 'text', (c) => c.notNull().references('clusters.id'))
      .addColumn('username', 'text', (c) => c.notNull())
      .addColumn('user_id', 'text', (c) => c.notNull())
      .addColumn('access', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addPrimaryKeyConstraint('database_users_of_cluster', ['cluster_id', 'username'])
      .execute();
    await db.schema
      .createTable('allowlist')
      .addColumn('cluster_id', 'text', (c) => c.notNull().references('clusters.id'))
      .addColumn('cidr', 'text', (c) => c.notNull())
      .addColumn('duration', 'text')
      .addColumn('comment', 'text')
      .addColumn('state', 'text', (c) => c.notNull())
      .addColumn('created_at', 'bigint', (c) => c.notNull())
      .addColumn('updated_at', 'bigint', (c) => c.notNull())
      .addColumn('expires_at', 'bigint')
      .addPrimaryKeyConstraint('allowlist_of_cluster', ['cluster_id', 'cidr'])
      .execute();
    await db.schema.createIndex('allowlist_due').on('allowlist').columns(['state', 'expires_at']).execute();
    await db.schema.createIndex('clusters_by_project').on('clusters').columns(['project_id', 'id']).execute();
    await db.schema.createIndex('clusters_by_name').on('clusters').columns(['name', 'id']).execute();
    // One index for every sort order of a list of one environment.
    for (const column of ['name', 'project_id', 'cloud_id', 'node_count'])
      await db.schema
        .createIndex(`clusters_listed_by_${column}`)
        .on('clusters')
        .columns(['environment', column, 'id'])
        .execute();
    await db.schema.createIndex('clusters_listed').on('clusters').columns(['environment', 'id']).execute();
    await db.schema.createIndex('projects_by_name').on('projects').columns(['name', 'id']).execute();
    await db.schema.createIndex('operations_open').on('operations').columns(['state', 'next_at']).execute();
    await db.schema
      .createIndex('operations_of')
      .on('operations')
      .columns(['cluster_id', 'created_at'])
      .execute();
  },
};

/** Tables that exist before `orderedByBytes`. Later migrations give their text columns the collation themselves. */
const tablesToOrder = [
  'facts',
  'clouds',
  'members',
  'projects',
  'tokens',
  'clusters',
  'nodes',
  'operations',
  'database_users',
  'allowlist',
];

/** Makes PostgreSQL, which sorts text by the collation of the database, sort by bytes as SQLite does. */
const orderedByBytes: Migration = {
  async up(db: AnyStore) {
    if (!(db.getExecutor().adapter instanceof PostgresAdapter)) return;
    const { rows } = await sql<{ table: string; name: string }>`
      select table_name as table, column_name as name from information_schema.columns
      where table_schema = current_schema() and data_type = 'text' and table_name in (${sql.join(tablesToOrder)})`.execute(
      db,
    );
    for (const { table, name } of rows)
      await sql`alter table ${sql.table(table)} alter column ${sql.ref(name)} type text collate "C"`.execute(
        db,
      );
  },
};

/** Creates the table of unconfirmed user changes under the name that version 0.2 released. */
const unconfirmedUserChanges: Migration = {
  async up(db: AnyStore) {
    const collated = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`;
    await db.schema
      .createTable('user_doubts')
      .addColumn('cluster_id', collated, (column) => column.notNull())
      .addColumn('username', collated, (column) => column.notNull())
      .addColumn('told_at', 'bigint')
      .addPrimaryKeyConstraint('user_doubts_of_cluster', ['cluster_id', 'username'])
      .execute();
  },
};

/** Adds the state of a node. Clusters of earlier versions have one node each, so it is a member. */
const nodeStates: Migration = {
  async up(db: AnyStore) {
    const collated = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`;
    await db.schema
      .alterTable('nodes')
      .addColumn('state', collated, (column) => column.notNull().defaultTo('member'))
      .execute();
  },
};

const migrations: Record<string, Migration> = {
  '0001_first': firstSchema,
  '0002_ordered_by_bytes': orderedByBytes,
  '0003_user_doubts': unconfirmedUserChanges,
  '0004_node_states': nodeStates,
};
const provider: MigrationProvider = { getMigrations: () => Promise.resolve(migrations) };

/** Migrates the tables; several processes may run it concurrently. Damage is detected before any change. */
export async function migrate(store: Store, checksums?: StoreChecksums): Promise<void> {
  checksums?.check();
  const migrator = new Migrator({ db: store, provider });
  const isPending = (await migrator.getMigrations()).some(({ executedAt }) => executedAt === undefined);
  if (isPending) checksums?.beforeMigration();
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  checksums?.afterMigrations();
}
