// `EXECUTE __get` and similar: client libraries read and write single documents with these in a transaction that also has queries.
// Arguments: keyspace, key, and for writes the body and options.
import type { DocumentWrite, WriteOutcome } from '#sqlpp/datastore/documents.ts';
import { type Keyspace, keyspaceText } from '#sqlpp/datastore/keyspace.ts';
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Datastore, ExecuteContext, PreparedStatement, Privilege } from '#sqlpp/run/engine.ts';
import { jsonText } from '#sqlpp/values/json-text.ts';
import { Binary, RawJson, type Value } from '#sqlpp/values/value.ts';
import type { QueryRequest } from '../request/query-request.ts';
import { asValue } from '../request/value-of-json.ts';
import { parseCollectionPath } from '../transactions/collection-path.ts';

type KvAction = (call: KvCall, context: ExecuteContext) => Promise<readonly Value[]>;

interface Operation {
  readonly kind: 'SELECT' | 'INSERT' | 'UPSERT' | 'UPDATE' | 'DELETE';
  /** What the caller must be allowed to do with the keyspace. */
  readonly actions: readonly Privilege['action'][];
  readonly perform: KvAction;
}

const operations: Readonly<Record<string, Operation>> = {
  __get: { kind: 'SELECT', actions: ['select'], perform: read },
  __insert: { kind: 'INSERT', actions: ['insert'], perform: writing('insert') },
  __upsert: { kind: 'UPSERT', actions: ['insert', 'update'], perform: writing('upsert') },
  __update: { kind: 'UPDATE', actions: ['update'], perform: writing('replace') },
  __delete: { kind: 'DELETE', actions: ['delete'], perform: writing('delete') },
};

interface KvCall {
  readonly keyspace: Keyspace;
  readonly id: string;
  readonly body: Value;
  /** The CAS that the client has read; 0n: the client sent none. */
  readonly cas: bigint;
}

export const isKvStatement = (name: string): boolean => Object.hasOwn(operations, name);

/** @throws SqlError 5003 that names the argument, 12003 for a keyspace that does not exist */
export function kvStatement(name: string, request: QueryRequest, datastore: Datastore): PreparedStatement {
  const { kind, actions, perform } = operations[name] as Operation;
  const call = callOf(request, datastore);
  return {
    text: `EXECUTE ${name}`,
    kind,
    isReadonly: kind === 'SELECT',
    signature: 'json',
    privileges: actions.map((action) => ({ action, keyspace: call.keyspace.name })),
    keyspaces: [call.keyspace],
    indexIds: [],
    explain: { '#operator': name },
    parameters: ['1', '2'],
    program: { run: (_prepared, context) => execution(call, perform, context) },
  };
}

function callOf({ positional, transaction }: QueryRequest, datastore: Datastore): KvCall {
  const [path, id, body] = positional;
  const location = typeof path === 'string' ? parseCollectionPath(path) : null;
  if (location === null)
    throw sqlError(5003, '$1 is not a keyspace: it must be a path bucket or bucket.scope.collection');
  if (typeof id !== 'string') throw sqlError(5003, '$2 is not a key');
  const { bucket, scope, collection } = location;
  const name = { namespace: 'default', bucket, scope, collection } as const;
  const keyspace = datastore.find(name);
  if (typeof keyspace === 'string') throw sqlError(12003, keyspaceText(name));
  return { keyspace, id, body, cas: casOf(transaction.data) };
}

function casOf(data: Value): bigint {
  const scas = (data as { scas?: Value } | null | undefined)?.scas;
  return typeof scas === 'string' && /^\d{1,20}$/.test(scas) ? BigInt(scas) : 0n;
}

function execution(call: KvCall, perform: KvAction, context: ExecuteContext) {
  const outcome = { mutations: 0, sorted: 0, usedBytes: 0, errors: [], warnings: [], phases: new Map() };
  return {
    outcome,
    timings: () => null,
    rows: (async function* rowsOnce() {
      context.signal.throwIfAborted();
      yield await perform(call, context);
      if (perform !== read) outcome.mutations++;
    })(),
  };
}

async function read({ keyspace, id }: KvCall, context: ExecuteContext): Promise<readonly Value[]> {
  const { signal } = context;
  const [found] = await context.datastore.documents.read(keyspace, [id], { signal });
  if (found === undefined) throw sqlError(17014, '', id);
  const { bytes, cas, isJson } = found;
  return [asRow(id, cas, isJson ? new RawJson(bytes, 0, bytes.length) : new Binary(bytes))];
}

function writing(kind: DocumentWrite['kind']): KvAction {
  return (call, context) => write(call, context, kind);
}

async function write(
  { keyspace, id, body, cas }: KvCall,
  context: ExecuteContext,
  kind: DocumentWrite['kind'],
): Promise<readonly Value[]> {
  const { documents } = context.datastore;
  const { durability, signal } = context;
  if (kind === 'replace' || kind === 'delete')
    await checkUnchanged({ keyspace, id, body, cas }, context, kind);
  const bytes = kind === 'delete' ? new Uint8Array() : Buffer.from(jsonText(body));
  const change: DocumentWrite = { kind, id, bytes, cas, expiration: kind === 'replace' ? 'keep' : 0 };
  const [outcome] = await documents.write(keyspace, [change], { durability, signal });
  const written = outcome as WriteOutcome;
  if (written.status === 'unknown') throw written.error;
  if (written.status === 'not found') throw sqlError(17014, '', id);
  if (written.status === 'exists') throw sqlError(17012, '', id);
  if (written.status !== 'done') throw sqlError(17015, kind, '', String(cas), id);
  if (kind === 'delete') return [];
  return [asRow(id, written.cas, kind === 'replace' ? body : undefined)];
}

/** Refuses a document that was deleted or changed since the client read it, before the commit would. */
async function checkUnchanged(
  { keyspace, id, cas }: KvCall,
  context: ExecuteContext,
  kind: string,
): Promise<void> {
  const { signal } = context;
  const [found] = await context.datastore.documents.read(keyspace, [id], { signal });
  if (found === undefined) throw sqlError(17014, '', id);
  if (cas !== 0n && found.cas !== cas)
    throw sqlError(17015, kind.toUpperCase(), String(found.cas), String(cas), id);
}

function asRow(id: string, cas: bigint, doc: Value): Value {
  const row = asValue({ id, scas: String(cas) }) as Record<string, Value>;
  if (doc !== undefined) row['doc'] = doc;
  return row;
}
