// CREATE and DROP of scopes and collections over the node's REST API; FLUSH COLLECTION deletes documents over the data port.

import type { ErrorCode } from '#sqlpp/errors/catalog.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { PlainCommand } from '#sqlpp/run/commands.ts';
import { WireDocuments } from '../data/wire-documents.ts';
import type { CommandContext } from './command-context.ts';

type ScopeChange = Extract<PlainCommand, { kind: 'CREATE_SCOPE' | 'DROP_SCOPE' }>;
type CollectionChange = Extract<
  PlainCommand,
  { kind: 'CREATE_COLLECTION' | 'DROP_COLLECTION' | 'FLUSH_COLLECTION' }
>;

interface Change {
  method: 'POST' | 'DELETE';
  path: string;
  fields?: Record<string, string | number>;
  code: ErrorCode;
  /** The REST error that IF EXISTS or IF NOT EXISTS accepts. */
  accepted: RegExp;
  what: string;
}

export async function changeCollections(
  command: ScopeChange | CollectionChange,
  given: CommandContext,
): Promise<void> {
  if (command.kind === 'FLUSH_COLLECTION') return await flush(command, given);
  const change = changeOf(command);
  const { credential } = given.session;
  if (credential === null)
    throw sqlError(change.code, `${change.what}: the statement needs a password, not a certificate`);
  const { status, body } = await given.service.deps.rest.request(
    credential,
    change.method,
    change.path,
    change.fields,
  );
  if (status < 300 || (command.hasIfClause && change.accepted.test(body))) return;
  throw sqlError(
    change.code,
    `${change.what}: ${reasonOf(body) || `the administration API answered ${status}`}`,
  );
}

const encoded = encodeURIComponent;

function changeOf(command: ScopeChange | CollectionChange): Change {
  const exists = /already exists/i;
  const missing = /not found/i;
  if ('keyspace' in command) {
    const { bucket, scope, collection } = command.keyspace;
    const path = `/pools/default/buckets/${encoded(bucket)}/scopes/${encoded(scope)}/collections`;
    const what = `${bucket}.${scope}.${collection}`;
    if (command.kind === 'CREATE_COLLECTION')
      return { method: 'POST', path, fields: { name: collection }, code: 12027, accepted: exists, what };
    return { method: 'DELETE', path: `${path}/${encoded(collection)}`, code: 12028, accepted: missing, what };
  }
  const path = `/pools/default/buckets/${encoded(command.bucket)}/scopes`;
  const what = `${command.bucket}.${command.scope}`;
  if (command.kind === 'CREATE_SCOPE')
    return { method: 'POST', path, fields: { name: command.scope }, code: 12025, accepted: exists, what };
  return {
    method: 'DELETE',
    path: `${path}/${encoded(command.scope)}`,
    code: 12026,
    accepted: missing,
    what,
  };
}

/** The texts of an answer, which is a list or `{"errors": {field: text}}`. */
function reasonOf(body: string): string {
  try {
    const answer = JSON.parse(body) as readonly string[] | { errors?: Record<string, string> };
    return Object.values(('errors' in answer ? answer.errors : answer) ?? {}).join('; ');
  } catch {
    return body.trim();
  }
}

async function flush(
  { keyspace: name }: CollectionChange,
  { service, context }: CommandContext,
): Promise<void> {
  const keyspace = service.deps.keyspaces.find(name);
  if (typeof keyspace === 'string')
    throw sqlError(12003, `default:${name.bucket}.${name.scope}.${name.collection}`);
  const documents = new WireDocuments(service.deps.clients);
  const { signal } = context;
  const scan = { keysOnly: true, withTransactionRecords: true, signal };
  for await (const batch of documents.scan(keyspace, scan)) {
    const deletions = batch.map(({ id }) => ({
      kind: 'delete' as const,
      id,
      bytes: new Uint8Array(0),
      cas: 0n,
      expiration: 0,
    }));
    const outcomes = await documents.write(keyspace, deletions, { durability: 'none', signal });
    for (const outcome of outcomes) if (outcome.status === 'unknown') throw outcome.error;
    const failed = outcomes.find(({ status }) => status === 'failed' || status === 'locked');
    if (failed !== undefined) throw sqlError(12029, `${name.bucket}.${name.scope}.${name.collection}`);
  }
}
