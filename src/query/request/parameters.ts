// The parameters of the service, one declaration each. Names are matched without case, each may be given once.
import { sqlError } from '#sqlpp/errors/sql-error.ts';
import type { Value } from '#sqlpp/values/value.ts';
import { parseQueryContext } from './query-context.ts';
import type { Credential, QueryRequest, ScanConsistency } from './query-request.ts';
import { scanVectorOf, scanVectorsOf } from './scan-vectors.ts';
import { durationOf, flagOf, jsonOf, jsonValue, type SentValue, textOf, wholeOf } from './sent-value.ts';
import { plainValue, valueOfJson } from './value-of-json.ts';

export interface Parameter {
  readonly read: (request: QueryRequest, sent: SentValue) => void;
  readonly doc: string;
}

const clientIdBytesMax = 64;
const credentialsMax = 64;
const consistencies = ['not_bounded', 'request_plus', 'statement_plus', 'at_plus'] as const;
const profiles = ['off', 'phases', 'timings'] as const;
const durabilities: Readonly<Record<string, QueryRequest['durability']>> = {
  '': null,
  none: 'none',
  majority: 'majority',
  majorityandpersistactive: 'majorityAndPersistActive',
  majorityandpersisttoactive: 'majorityAndPersistActive',
  persisttomajority: 'persistToMajority',
};

/** A tuning hint of published servers: it must have the right type and has no effect. */
const hint = (read: (sent: SentValue) => unknown, doc: string): Parameter => ({
  read: (_request, sent) => void read(sent),
  doc: `${doc}. It is checked and has no effect.`,
});

/** A parameter with one supported value; other known values are refused as not supported, others as unknown. */
const only = (value: string, allowed: readonly string[], doc: string): Parameter => ({
  read(_request, sent) {
    const text = textOf(sent);
    if (text === '' || text.toUpperCase() === value) return;
    if (allowed.includes(text.toUpperCase())) throw sqlError(1020, sent.name, text);
    throw sqlError(1030, sent.name, text);
  },
  doc,
});

export const parameters: Readonly<Record<string, Parameter>> = {
  statement: {
    read: (request, sent) => void (request.statement = textOf(sent)),
    doc: 'The statement to run.',
  },
  prepared: {
    read(request, sent) {
      if (typeof sent.value !== 'string') throw sqlError(4050);
      const text = textOf(sent);
      request.prepared = text.startsWith('"') ? text.replace(/^"(.*)"$/, '$1') : text;
    },
    doc: 'Name of the prepared statement to run.',
  },
  encoded_plan: {
    read: (request, sent) => void (request.encodedPlan = textOf(sent)),
    doc: 'The plan from the answer to PREPARE, for a node that does not have the statement.',
  },
  args: { read: readArguments, doc: 'Values of `$1`, `$2`, … and `?`, an array.' },
  creds: {
    read: readCredentials,
    doc: 'Users in addition to the one of the header: `[{"user": "", "pass": ""}]`.',
  },
  client_context_id: {
    read: readClientId,
    doc: 'Text that the answer repeats; cut to 64 bytes of UTF-8.',
  },
  scan_consistency: {
    read(request, sent) {
      const text = textOf(sent).toLowerCase();
      if (text === '' || text === 'not_set') return;
      request.consistency = oneOf(consistencies, text, sent) as ScanConsistency;
      request.isConsistencySet = true;
    },
    doc: 'Which changes indexes must include: `not_bounded`, `request_plus`, `statement_plus` or `at_plus`.',
  },
  scan_vector: {
    read: (request, sent) => void (request.scanVector = scanVectorOf(sent)),
    doc: 'For `at_plus` on one keyspace: `[seqno, "uuid"]` by vbucket.',
  },
  scan_vectors: {
    read: (request, sent) => void (request.scanVectors = scanVectorsOf(sent)),
    doc: 'For `at_plus` on several keyspaces: a vector for each.',
  },
  scan_wait: {
    read: (request, sent) => void (request.scanWaitMs = Math.max(0, durationOf(sent))),
    doc: 'How long to wait for consistency.',
  },
  timeout: {
    read: (request, sent) => void (request.timeoutMs = Math.max(0, durationOf(sent))),
    doc: 'Timeout of the request; 0: that of the service.',
  },
  readonly: {
    read: (request, sent) => void (request.isReadonly = flagOf(sent) ?? request.isReadonly),
    doc: 'Refuse statements that change data.',
  },
  metrics: {
    read: (request, sent) => void (request.metrics = flagOf(sent)),
    doc: 'Whether the answer has `metrics`.',
  },
  signature: {
    read: (request, sent) => void (request.signature = flagOf(sent)),
    doc: 'Whether the answer has `signature`.',
  },
  pretty: { read: (request, sent) => void (request.pretty = flagOf(sent)), doc: 'Indent the answer.' },
  profile: {
    read(request, sent) {
      const text = textOf(sent).toLowerCase();
      if (text !== '') request.profile = oneOf(profiles, text, sent) as QueryRequest['profile'];
    },
    doc: 'The `profile` in the answer: `off`, `phases` or `timings`.',
  },
  controls: {
    read: (request, sent) => void (request.controls = flagOf(sent)),
    doc: 'Whether the answer has `controls`.',
  },
  auto_prepare: {
    read: (request, sent) => void (request.autoPrepare = flagOf(sent)),
    doc: 'Cache the plan of the statement by its text.',
  },
  auto_execute: {
    read: (request, sent) => void (request.autoExecute = flagOf(sent) ?? false),
    doc: 'Run the statement that PREPARE prepares.',
  },
  memory_quota: {
    read: (request, sent) => void (request.memoryQuotaMb = Math.max(0, wholeOf(sent))),
    doc: 'Megabytes of memory that the request may use; 0: only the limit of the service.',
  },
  preserve_expiry: {
    read: (request, sent) => void (request.preserveExpiry = flagOf(sent) ?? false),
    doc: 'Changed documents keep their expiry.',
  },
  error_limit: {
    read: (request, sent) => void (request.errorLimit = wholeOf(sent)),
    doc: 'Failed rows after which the request ends.',
  },
  durability_level: {
    read(request, sent) {
      const level = textOf(sent).toLowerCase();
      if (!Object.hasOwn(durabilities, level)) throw sqlError(1030, sent.name, textOf(sent));
      request.durability = durabilities[level] ?? null;
    },
    doc: 'Durability of writes: `none`, `majority`, `majorityAndPersistActive` or `persistToMajority`.',
  },
  query_context: {
    read(request, sent) {
      request.queryContextText = textOf(sent);
      request.queryContext = parseQueryContext(request.queryContextText);
    },
    doc: 'Bucket and scope of one-part names: `default:bucket.scope`.',
  },
  n1ql_feat_ctrl: {
    read: (request, sent) => void (request.featureControls = wholeOf(sent)),
    doc: 'Bits that switch features off.',
  },
  use_cbo: {
    read: (request, sent) => void (request.useCbo = flagOf(sent)),
    doc: 'Choose among indexes by the statistics of `UPDATE STATISTICS`. Default: `queryUseCBO` of the settings.',
  },
  txid: {
    read: (request, sent) => void (request.transaction.id = textOf(sent)),
    doc: 'The transaction that the statement belongs to.',
  },
  tximplicit: {
    read: (request, sent) => void (request.transaction.isImplicit = flagOf(sent) ?? false),
    doc: 'Run the statement as a transaction.',
  },
  txstmtnum: {
    read: (request, sent) => void (request.transaction.statementNumber = wholeOf(sent)),
    doc: 'Number of the statement in its transaction.',
  },
  txtimeout: {
    read: (request, sent) => void (request.transaction.timeoutMs = Math.max(0, durationOf(sent))),
    doc: 'Timeout of the transaction.',
  },
  txdata: {
    read: (request, sent) =>
      void (request.transaction.data = jsonValue(sent.name, () => plainValue(jsonOf(sent)))),
    doc: 'State of a transaction that a client library has begun.',
  },
  atrcollection: {
    read: (request, sent) => void (request.transaction.atrCollection = textOf(sent)),
    doc: 'Collection for the records of transactions.',
  },
  kvtimeout: {
    read: (request, sent) => void (request.transaction.kvTimeoutMs = Math.max(0, durationOf(sent))),
    doc: 'Timeout of an access to a document.',
  },
  numatrs: hint(wholeOf, 'Number of records of transactions'),
  format: only('JSON', ['XML', 'CSV', 'TSV'], 'Format of the answer: only `JSON`.'),
  encoding: only('UTF-8', [], 'Encoding of the answer: only `UTF-8`.'),
  compression: only('NONE', ['ZIP', 'RLE', 'LZMA', 'LZO'], 'Compression of the answer: only `NONE`.'),
  namespace: {
    read(_request, sent) {
      const text = textOf(sent);
      if (text !== '' && text !== 'default') throw sqlError(12002, text);
    },
    doc: 'Namespace of keyspaces: `default`.',
  },
  max_parallelism: hint(wholeOf, 'Operators of a kind that run at a time'),
  pipeline_cap: hint(wholeOf, 'Items between two operators'),
  pipeline_batch: hint(wholeOf, 'Documents fetched together'),
  scan_cap: hint(wholeOf, 'Entries between index and query'),
  max_index_api: hint(wholeOf, 'Version of the index interface'),
  use_fts: hint(flagOf, 'Use search indexes'),
};

function oneOf(allowed: readonly string[], text: string, sent: SentValue): string {
  if (allowed.includes(text)) return text;
  throw sqlError(1030, sent.name, textOf(sent));
}

function readArguments(request: QueryRequest, sent: SentValue): void {
  const values = sent.isText ? parsed(sent) : sent.value;
  if (!Array.isArray(values)) throw sqlError(1070, sent.name, 'array');
  request.positional = values as Value[];
}

function parsed(sent: SentValue): Value {
  const text = textOf(sent);
  if (text === '') return [];
  return jsonValue(sent.name, () => valueOfJson(text), 'it is not a JSON array');
}

function readCredentials(request: QueryRequest, sent: SentValue): void {
  if (sent.value === '') return;
  const list = jsonOf(sent);
  const isList = Array.isArray(list) && list.length <= credentialsMax;
  if (!isList) throw sqlError(1070, sent.name, 'array of { user, pass }');
  request.credentials = list.map((item) => credentialOf(item, sent.name));
}

function credentialOf(json: unknown, name: string): Credential {
  const { user, pass } = (json ?? {}) as Record<string, unknown>;
  if (user === undefined || pass === undefined) throw sqlError(1050, 'user or pass');
  if (typeof user !== 'string' || typeof pass !== 'string')
    throw sqlError(1070, name, 'array of { user, pass }');
  return { user: user.replace(/^local:/, ''), password: pass };
}

/** Matches ids that are taken as they are. */
const plainClientId = /^[ !#-[\]-~]{0,64}$/;

function readClientId(request: QueryRequest, sent: SentValue): void {
  const id = textOf(sent);
  request.clientContextId = plainClientId.test(id) ? id : cutClientId(id);
}

function cutClientId(id: string): string {
  const text = Buffer.from(id).subarray(0, clientIdBytesMax).toString().replaceAll('\ufffd', '');
  if (/["\\]/.test(text)) throw sqlError(1110);
  return text;
}
