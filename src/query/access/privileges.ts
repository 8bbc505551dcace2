// Maps each privilege of a statement to a permission, and to the error text that names the missing role.
import type { Caller } from '#auth/authority.ts';
import type { Permission } from '#auth/permission.ts';
import { type KeyspaceName, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Privilege } from '#sqlpp/run/engine.ts';

interface Rule {
  /** The path of the object, without the keyspace or the cluster that it belongs to. */
  readonly object: string;
  readonly operation: string;
  /** True: the object belongs to the statement's keyspace; false: to the cluster. */
  readonly isOfKeyspace: boolean;
  /** What the statement does, as the error names it. */
  readonly activity: (target: string) => string;
  /** The role that permits it, as the error names it. */
  readonly role: (target: string) => string;
}

const statement = (verb: string): Rule => ({
  object: `n1ql.${verb}`,
  operation: 'execute',
  isOfKeyspace: true,
  activity: (target) => `${verb.toUpperCase()} queries on ${target}`,
  role: (target) => `query_${verb} on ${target}`,
});

const rules: Readonly<Record<Privilege['action'], Rule>> = {
  select: statement('select'),
  insert: statement('insert'),
  update: statement('update'),
  delete: statement('delete'),
  index: {
    object: 'n1ql.index',
    operation: 'create',
    isOfKeyspace: true,
    activity: () => 'index operations',
    role: (target) => `query_manage_index on ${target}`,
  },
  catalog: {
    object: 'n1ql.meta',
    operation: 'read',
    isOfKeyspace: false,
    activity: () => 'queries accessing the system tables',
    role: () => 'query_system_catalog',
  },
  scope: {
    object: 'collections',
    operation: 'write',
    isOfKeyspace: true,
    activity: () => 'scope and collection operations',
    role: (target) => `scope_admin on ${target}`,
  },
  grant: {
    object: 'admin.security',
    operation: 'write',
    isOfKeyspace: false,
    activity: () => 'queries updating user information',
    role: () => 'admin',
  },
  function: {
    object: 'n1ql.udf',
    operation: 'manage',
    isOfKeyspace: true,
    activity: () => 'manage functions',
    role: (target) =>
      target === '' ? 'query_manage_global_functions' : `query_manage_functions on ${target}`,
  },
  'execute function': {
    object: 'n1ql.udf',
    operation: 'execute',
    isOfKeyspace: true,
    activity: () => 'execute functions',
    role: (target) =>
      target === '' ? 'query_execute_global_functions' : `query_execute_functions on ${target}`,
  },
  'external function': {
    object: 'n1ql.udf_external',
    operation: 'manage',
    isOfKeyspace: true,
    activity: () => 'manage external functions',
    role: (target) =>
      target === ''
        ? 'query_manage_global_external_functions'
        : `query_manage_external_functions on ${target}`,
  },
  'execute external function': {
    object: 'n1ql.udf_external',
    operation: 'execute',
    isOfKeyspace: true,
    activity: () => 'execute external functions',
    role: (target) =>
      target === ''
        ? 'query_execute_global_external_functions'
        : `query_execute_external_functions on ${target}`,
  },
  curl: {
    object: 'n1ql.curl',
    operation: 'execute',
    isOfKeyspace: false,
    activity: () => 'queries using the CURL() function',
    role: () => 'query_external_access',
  },
  transaction: {
    object: 'n1ql',
    operation: 'execute',
    isOfKeyspace: false,
    activity: () => 'transactions',
    role: () => 'query_select',
  },
};

/** The actions for which a caller needs privileges; a function without a library is written in SQL++. */
export const functionActions = (
  library: string | undefined,
): { readonly manage: Privilege['action']; readonly execute: Privilege['action'] } =>
  library === undefined
    ? { manage: 'function', execute: 'execute function' }
    : { manage: 'external function', execute: 'execute external function' };

/** Keyspaces of the catalog that every user may read; they have only rows that the user may see. */
const openKeyspaces: ReadonlySet<string> = new Set([
  'datastores',
  'namespaces',
  'buckets',
  'scopes',
  'all_scopes',
  'keyspaces',
  'all_keyspaces',
  'keyspaces_info',
  'all_keyspaces_info',
  'indexes',
  'all_indexes',
  'dual',
  'my_user_info',
  'functions',
  'dictionary',
]);
const securityKeyspaces: ReadonlySet<string> = new Set(['user_info', 'applicable_roles']);

/** The callers of one request, which has the privileges of all of them. */
export type Callers = readonly Caller[];

/**
 * For each caller, the privilege lists (one per plan) that passed the check. A Caller object is immutable: after a change of roles a new one
 * replaces it, so the results stay true.
 */
const heldLists = new WeakMap<Caller, WeakSet<readonly Privilege[]>>();

/** @throws SqlError 13014 that names the first role that is missing */
export function checkPrivileges(callers: Callers, privileges: readonly Privilege[]): void {
  const held = heldListsOf(callers);
  if (held?.has(privileges)) return;
  checkEach(callers, privileges);
  held?.add(privileges);
}

/** Undefined for several callers, whose privileges are checked each time. */
function heldListsOf(callers: Callers): WeakSet<readonly Privilege[]> | undefined {
  const [caller, ...others] = callers;
  if (caller === undefined || others.length > 0) return undefined;
  const existing = heldLists.get(caller);
  if (existing !== undefined) return existing;
  const created = new WeakSet<readonly Privilege[]>();
  heldLists.set(caller, created);
  return created;
}

function checkEach(callers: Callers, privileges: readonly Privilege[]): void {
  for (const privilege of privileges) {
    if (isHeld(callers, privilege)) continue;
    const { keyspace } = privilege;
    const rule =
      keyspace?.namespace === 'system' ? ruleOfCatalog(keyspace.collection) : rules[privilege.action];
    const target = keyspace === undefined ? '' : targetText(keyspace);
    throw sqlError(
      13014,
      `User does not have credentials to run ${rule.activity(target)}. Add role ${rule.role(target)} to allow the statement to run.`,
    );
  }
}

export function isHeld(callers: Callers, { action, keyspace }: Privilege): boolean {
  if (action === 'transaction') return callers.length > 0;
  if (keyspace?.namespace === 'system') return mayReadCatalog(callers, keyspace.collection, action);
  return permits(callers, permissionOf(rules[action], keyspace));
}

function mayReadCatalog(callers: Callers, collection: string, action: Privilege['action']): boolean {
  const isReading = action === 'select' || action === 'catalog';
  if (isReading && openKeyspaces.has(collection)) return callers.length > 0;
  return permits(callers, permissionOf(ruleOfCatalog(collection), undefined));
}

const ruleOfCatalog = (collection: string): Rule =>
  securityKeyspaces.has(collection)
    ? { ...rules.grant, operation: 'read', activity: () => 'queries accessing user information' }
    : rules.catalog;

const permits = (callers: Callers, permission: Permission): boolean =>
  callers.some((caller) => caller.permits(permission));

function permissionOf(
  { object, operation, isOfKeyspace }: Rule,
  keyspace: KeyspaceName | undefined,
): Permission {
  const steps = object.split('.').map((name) => ({ name, names: [] }));
  if (!isOfKeyspace || keyspace === undefined) return { object: steps, operation };
  return { object: [targetOf(keyspace), ...steps], operation };
}

function targetOf({ bucket, scope, collection }: KeyspaceName): Permission['object'][number] {
  if (scope === '') return { name: 'bucket', names: [bucket] };
  if (collection === '') return { name: 'scope', names: [bucket, scope] };
  return { name: 'collection', names: [bucket, scope, collection] };
}

/** The keyspace as errors name it after a role. */
function targetText(keyspace: KeyspaceName): string {
  const { bucket, scope, collection } = keyspace;
  if (scope === '') return `default:${bucket}`;
  return collection === '' ? `default:${bucket}.${scope}` : keyspaceText(keyspace);
}

/** Whether a row about this keyspace may be shown. */
export const maySeeKeyspace = (callers: Callers, keyspace: KeyspaceName): boolean =>
  (['select', 'insert', 'update', 'delete', 'index'] as const).some((action) =>
    isHeld(callers, { action, keyspace }),
  ) || isHeld(callers, { action: 'catalog' });

/** Requires a role of the data service, not of the query service. */
export const mayWriteDocuments = (callers: Callers, keyspace: KeyspaceName): boolean =>
  permits(callers, {
    object: [targetOf(keyspace), { name: 'data', names: [] }, { name: 'docs', names: [] }],
    operation: 'upsert',
  });

export const mayChangeSettings = (callers: Callers): boolean =>
  permits(callers, { object: [{ name: 'settings', names: [] }], operation: 'write' });
