import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { resultOf } from '#base/steps.ts';
import { SqlError } from '#sqlpp/errors/sql-error.ts';
import { durationText, parseDuration } from './duration.ts';
import { largeLengthMin } from './large-bodies.ts';
import { parseQueryContext } from './query-context.ts';
import { isLargeBody, readLargeParameters, readParameters, type SentRequest } from './read-parameters.ts';

const sent = (changes: Partial<SentRequest>): SentRequest => ({
  method: 'POST',
  search: '',
  contentType: undefined,
  accept: undefined,
  body: Buffer.alloc(0),
  ...changes,
});
const json = (value: unknown): SentRequest =>
  sent({
    contentType: 'application/json',
    body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  });
const form = (text: string): SentRequest =>
  sent({ contentType: 'application/x-www-form-urlencoded', body: Buffer.from(text) });

function refusal(request: SentRequest, read = readParameters): [number, string] {
  try {
    read(request);
  } catch (error) {
    assert.ok(error instanceof SqlError, String(error));
    return [error.code, error.message];
  }
  return assert.fail('the request was accepted');
}

test('a request is sent as JSON, as a form or in the query of a URL', () => {
  const requests = [
    json({ statement: 'SELECT 1' }),
    form('statement=SELECT+1'),
    sent({ method: 'GET', search: 'statement=SELECT%201' }),
    sent({ body: Buffer.from('statement=SELECT+1'), contentType: undefined }),
    sent({ search: 'statement=SELECT%201', contentType: 'text/plain' }),
  ];
  for (const request of requests) assert.equal(readParameters(request).statement, 'SELECT 1');
  assert.equal(readParameters(requests[2] as SentRequest).isReadonly, true);
  assert.equal(readParameters(requests[0] as SentRequest).isReadonly, false);
});

test('names match without case, and arguments preserve 64-bit integers', () => {
  const text = '{"STATEMENT":"s","Args":[9007199254740993,1.5,null],"$n":{"__proto__":1},"@m":true}';
  const { positional, named } = readParameters(json(text));
  assert.deepEqual(positional, [9007199254740993n, 1.5, null]);
  assert.deepEqual(Object.entries(named.get('n') as object), [['__proto__', 1]]);
  assert.equal(named.get('m'), true);
  const inForm = readParameters(form('statement=s&args=[1,%22a%22]&$n=%7B%22a%22:2%7D'));
  assert.deepEqual(inForm.positional, [1, 'a']);
  assert.equal(JSON.stringify(inForm.named.get('n')), '{"a":2}');
});

test('a client context id is cut after the last whole character within 64 bytes', () => {
  const idOf = (id: string) =>
    readParameters(json({ statement: 's', client_context_id: id })).clientContextId;
  const longest = 'x'.repeat(64);
  for (const id of ['', 'a [b] ~', longest, 'é', 'tab\t', 'é'.repeat(32)]) assert.equal(idOf(id), id);
  assert.equal(idOf(`${longest}y`), longest);
  assert.equal(idOf(`${'x'.repeat(63)}é`), 'x'.repeat(63));
  assert.equal(idOf('é'.repeat(33)), 'é'.repeat(32));
});

test('parameters of all types are parsed', () => {
  const request = readParameters(
    json({
      statement: 's',
      timeout: '1m15s',
      scan_wait: '10ms',
      readonly: true,
      metrics: false,
      pretty: true,
      signature: false,
      profile: 'TIMINGS',
      controls: true,
      auto_execute: true,
      auto_prepare: false,
      scan_consistency: 'REQUEST_PLUS',
      client_context_id: 'x'.repeat(80),
      memory_quota: 5,
      preserve_expiry: true,
      error_limit: '3',
      durability_level: 'persistToMajority',
      use_cbo: false,
      query_context: 'default:`b-1`.s',
      creds: [{ user: 'local:u', pass: 'p' }],
      max_parallelism: '4',
      format: 'json',
      encoding: 'utf-8',
      compression: 'none',
      namespace: 'default',
      pipeline_cap: 9,
    }),
  );
  const { clientContextId, queryContext, credentials, named: _named, ...rest } = request;
  assert.equal(clientContextId, 'x'.repeat(64));
  assert.deepEqual(queryContext, { bucket: 'b-1', scope: 's' });
  assert.deepEqual(credentials, [{ user: 'u', password: 'p' }]);
  assert.deepEqual(
    [rest.timeoutMs, rest.scanWaitMs, rest.isReadonly, rest.metrics, rest.pretty, rest.signature],
    [75_000, 10, true, false, true, false],
  );
  assert.deepEqual(
    [rest.profile, rest.controls, rest.autoExecute, rest.autoPrepare, rest.consistency, rest.memoryQuotaMb],
    ['timings', true, true, false, 'request_plus', 5],
  );
  assert.deepEqual(
    [rest.preserveExpiry, rest.errorLimit, rest.durability, rest.useCbo],
    [true, 3, 'persistToMajority', false],
  );
});

test('negative timeouts count as absent', () => {
  const timeouts = { timeout: '-1s', scan_wait: '-1s', txtimeout: '-1s', kvtimeout: '-1s' };
  const { timeoutMs, scanWaitMs, transaction } = readParameters(json({ statement: 's', ...timeouts }));
  assert.deepEqual([timeoutMs, scanWaitMs, transaction.timeoutMs, transaction.kvTimeoutMs], [0, 0, 0, 0]);
});

test('each refusal names the wrong parameter', () => {
  const deep = [2_001, 200_000].map((levels) => '['.repeat(levels) + ']'.repeat(levels));
  const refusalOf = (fields: object) => refusal(json({ statement: 's', ...fields }));
  const cases: [[number, string], number, RegExp][] = [
    [refusalOf({ statment: 's' }), 1065, /^Unrecognized parameter in request: statment$/],
    [refusalOf({ use_replica: 'on' }), 1065, /use_replica/],
    [refusal(json({})), 1050, /statement or prepared/],
    [refusalOf({ prepared: 'p' }), 1060, /statement and prepared/],
    [refusal(json({ prepared: 5 })), 4050, /Unrecognizable/],
    [refusal(form('statement=s&statement=t')), 1060, /statement/],
    [refusal(form('statement=s&$a=1&$a=2')), 1060, /\$a/],
    [refusal(json('{"a":1,"A":2,"statement":"s"}')), 1060, /a/],
    [refusal(json('{"statement":"s","TIMEOUT":"1s","timeout":"2s"}')), 1060, /timeout/],
    [refusal(json('{"statement":"s","timeout":"1s","timeout":"2s"}')), 1060, /timeout/],
    [refusal(json('{"statement":"s","$a":{"b":"}"},"\\u0024a":2}')), 1060, /\$a/],
    [refusalOf({ readonly: 'yes' }), 1070, /readonly has to be of type boolean/],
    [refusal(form('statement=s&readonly=yes')), 1040, /readonly/],
    [refusalOf({ timeout: 5 }), 1070, /timeout has to be of type string/],
    [refusalOf({ timeout: '5 parsecs' }), 1040, /timeout/],
    ...deep.flatMap((text): [[number, string], number, RegExp][] => [
      [refusal(json(`{"statement":"s","args":${text}}`)), 1040, /args: it has more than 2000 levels/],
      [refusal(json(`{"statement":"s","creds":${text}}`)), 1040, /creds: it has more than/],
      [refusal(json(`{"statement":"s","$a":[9007199254740993,${text}]}`)), 1040, /more than 2000 levels/],
      [refusal(form(`statement=s&$a=${text}`)), 1040, /\$a: it has more than 2000 levels/],
      [refusal(form(`statement=s&args=${text}`)), 1040, /args: it has more than 2000 levels/],
      [refusal(form(`statement=s&txdata=${text}`)), 1040, /txdata: it has more than 2000 levels/],
    ]),
    [refusalOf({ args: { a: 1 } }), 1070, /args has to be of type array/],
    [refusal(form('statement=s&args=[1')), 1040, /args/],
    [refusal(form('statement=s&$a=[1')), 1040, /\$a/],
    [refusalOf({ scan_consistency: 'sometimes' }), 1030, /scan_consistency/],
    [refusalOf({ scan_consistency: 'at_plus' }), 1050, /scan_vector/],
    [refusalOf({ scan_vector: {}, scan_vectors: { b: {} } }), 1060, /scan_vector and scan_vectors/],
    [refusalOf({ scan_vector: { 5: [1] } }), 1140, /length 2/],
    [refusalOf({ scan_vector: { 5: [-1, '1'] } }), 1150, /-1/],
    [refusalOf({ scan_vector: { 5: [1, 'x'] } }), 1155, /x/],
    [refusalOf({ scan_vector: { 5: [1, '18446744073709551616'] } }), 1155, /18446744073709551616/],
    [refusalOf({ scan_vector: { 2000: [1, '1'] } }), 1040, /2000/],
    [refusalOf({ client_context_id: 'a"b' }), 1110, /forbidden/],
    [refusalOf({ format: 'XML' }), 1020, /format XML/],
    [refusalOf({ format: 'YAML' }), 1030, /format/],
    [refusalOf({ compression: 'ZIP' }), 1020, /compression/],
    [refusalOf({ durability_level: 'some' }), 1030, /durability_level/],
    [refusalOf({ durability_level: 'constructor' }), 1030, /durability_level/],
    [refusalOf({ query_context: 'a.b.c' }), 10201, /a\.b\.c/],
    [refusalOf({ query_context: 'system:x.y' }), 10201, /system/],
    [refusalOf({ memory_quota: 'much' }), 1040, /memory_quota/],
    [refusalOf({ creds: [{ user: 'a' }] }), 1050, /user or pass/],
    [refusalOf({ creds: 'a' }), 1070, /creds/],
    [refusalOf({ profile: 'all' }), 1030, /profile/],
    [refusalOf({ namespace: 'other' }), 12002, /other/],
    [refusal(json('[1]')), 1040, /body/],
    [refusal(json('{"statement":')), 1040, /body/],
    [refusal(sent({ method: 'PUT' })), 1010, /PUT/],
    [refusal(sent({ method: 'GET', search: 'statement=s&readonly=false' })), 1000, /readonly=false/],
    [
      refusal(sent({ body: Buffer.from('SELECT 1'), contentType: 'text/plain' })),
      1120,
      /text\/plain.*application\/json/,
    ],
    [
      refusal(sent({ body: Buffer.from('{}'), contentType: 'text/json', search: 'statement=s' })),
      1120,
      /text\/json/,
    ],
    [refusal({ ...json({ statement: 's' }), accept: 'text/html' }), 1120, /text\/html/],
  ];
  for (const [[code, text], wanted, pattern] of cases) {
    assert.equal(code, wanted, text);
    assert.match(text, pattern);
  }
});

/** Blanks that make a body large. */
const blanks = ' '.repeat(80_000);
const readLarge = (request: SentRequest) => resultOf(readLargeParameters(request));

test('a large body is read in steps, which give the same values as reading it at once', () => {
  const nested =
    '{"a":[1,{"__proto__":9007199254740993,"b":1e400,"b":[2,{"c":1,"d":2,"c":3}]}],"a":"é😀\\u00e9"}';
  const items = `[${Array.from({ length: 2_000 }, (_, at) => `{"id":${at},"id":${-at},"x":${nested}}`).join(',')}]`;
  const members = `"Statement":"s","\\u0024b":-0.5,"$c":${nested}, "timeout":"1s","creds":[{"user":"u","pass":"p"}]`;
  const inForm = `statement=%20s+&$b=${encodeURIComponent(items)}&ARGS=${encodeURIComponent(items)}&@c=[1]&?readonly&$d=%26`;
  for (const request of [
    json(`{${members},"args":[${nested}]${blanks}}`),
    json(`{"args":${items},${members}}`),
    json(`${blanks}{"$items":${items},${members}}${blanks}`),
    json(`{${members},${Array.from({ length: 9_000 }, (_, at) => `"$x${at}":${at}`).join(',')}}`),
    form(`?&&${inForm.replace('&?readonly&$d=%26', '')}`),
    form(`statement=s&${Array.from({ length: 9_000 }, (_, at) => `$x${at}=${at}`).join('&')}`),
  ]) {
    assert.ok(isLargeBody(request));
    assert.ok(
      isDeepStrictEqual(readLarge(request), readParameters(request)),
      String(request.body).slice(0, 80),
    );
  }
  const large = json(`{"args":${items},${members}}`);
  const pauses = [...readLargeParameters(large)].length;
  assert.ok(
    pauses >= Math.floor(large.body.length / largeLengthMin),
    `${pauses} pauses in ${large.body.length} bytes`,
  );
  for (const text of [inForm, inForm.replace('[1]', '[1'), `statement=s&statement=t&$a=${blanks}`])
    assert.deepEqual(refusal(form(text), readLarge), refusal(form(text)));
});

test('a value is read the same way in a small and in a large body', () => {
  for (const text of [
    '9007199254740992',
    '9007199254740993',
    '[-9007199254740994,{"a":1234567890123456768}]',
    '-9223372036854775808',
    '9223372036854775808',
    '[-0,-0.0,{"a":-0}]',
    '-0',
    '"\\ud800"',
    '{"\\ud800":["\\udc00\\ud800"]}',
  ])
    for (const [small, large] of [
      [json(`{"statement":"s","$a":${text}}`), json(`{"statement":"s","$a":${text}${blanks}}`)],
      [json(`{"statement":"s","$\\ud800":${text}}`), json(`{"statement":"s","$\\ud800":${text}${blanks}}`)],
      [form(`statement=s&args=[${text}]`), form(`statement=s&args=[${text}${blanks}]`)],
      [form(`statement=s&$a=${text}`), form(`statement=s&$a=${text}${blanks}`)],
    ] as const)
      assert.deepEqual(readParameters(small), readLarge(large));
  const { named } = readParameters(json({ statement: 's', $a: 2 ** 53, $b: -0, $c: '\ud800' }));
  assert.deepEqual([...named.values()], [2 ** 53, 0, '\ufffd']);
});

test('a large body is refused for the same reasons as a small body', () => {
  const deep = '['.repeat(2_001) + ']'.repeat(2_001);
  const list = `[${'1,'.repeat(50_000)}1]`;
  for (const request of [
    json(`{"statement":"s","$a":${deep}${blanks}}`),
    json(`{"statement":"s","args":[${list},${deep}]}`),
    json(`{"statement":"s","$a":{"b":"}"},"\\u0024a":${list}}`),
    json(`{"statement":"s","TIMEOUT":"1s","timeout":"2s","args":${list}}`),
    json(`{"a":1,"statement":"s","args":${list}}`),
    json(`{"statement":"s","args":{"a":${list}}}`),
    json(`{"statement":"s"}`.replace('s', list)),
    json(list),
    json(`{${blanks}}`),
    form(`statement=s&$a=${deep.padEnd(80_000)}`),
    form(`statement=s&args=${deep.padEnd(80_000)}`),
    form(`statement=s&args={"a":${list}}`),
    form(`statement=s&args=${list}]`),
    form(`statement=s&@a=[${list}`),
    { ...json(`{"statement":"s","args":${list}}`), accept: 'text/html' },
    { ...json(`{"statement":"s","args":${list}}`), method: 'PUT' },
    { ...json(`{"statement":"s","args":${list}}`), method: 'GET' },
    { ...json(`{"statement":"s","args":${list}}`), contentType: 'text/plain' },
  ]) {
    assert.ok(isLargeBody(request));
    assert.deepEqual(refusal(request, readLarge), refusal(request));
  }
  for (const text of [
    `{"args":${list}`,
    `{"args":${list},}`,
    `{"args" ${list}}`,
    `{"args":${list}}}`,
    `{"a":"${blanks}\n"}`,
  ]) {
    assert.match(
      refusal(json(text), readLarge)[1],
      /JSON request body: (Invalid JSON at byte|Unexpected end|Invalid string)/,
    );
    assert.equal(refusal(json(text))[0], 1040);
  }
});

test('scan vectors are full or sparse, for one keyspace or for several', () => {
  const sparse = readParameters(
    json({ statement: 's', scan_consistency: 'at_plus', scan_vectors: { b: { 7: [9, '184467440737'] } } }),
  );
  assert.deepEqual(sparse.scanVectors?.get('b')?.get(7), { seqno: 9, uuid: 184467440737n });
  const full = readParameters(
    json({
      statement: 's',
      scan_vector: [
        [1, '2'],
        [3, ''],
      ],
    }),
  );
  assert.deepEqual(
    [...(full.scanVector ?? [])],
    [
      [0, { seqno: 1, uuid: 2n }],
      [1, { seqno: 3, uuid: 0n }],
    ],
  );
});

test('the uuid of a scan vector may be sent as a signed number', () => {
  const sent = readParameters(json({ statement: 's', scan_vector: { 7: [9, '-1'] } }));
  assert.equal(sent.scanVector?.get(7)?.uuid, 2n ** 64n - 1n);
});

test('durations are parsed and formatted as in Go', () => {
  const texts: [string, number | null][] = [
    ['0', 0],
    ['75000ms', 75_000],
    ['1h2m3.5s', 3_723_500],
    ['-1s', -1000],
    ['1.5', null],
    ['', null],
    ['5x', null],
    ['1e3s', null],
    ['999999999h', null],
  ];
  for (const [text, ms] of texts) assert.equal(parseDuration(text), ms, text);
  const durations: [number, string][] = [
    [0, '0s'],
    [0.0005, '500ns'],
    [0.0123, '12.3µs'],
    [0.999999, '999.999µs'],
    [0.02, '20µs'],
    [1.000001, '1.000001ms'],
    [1.234567, '1.234567ms'],
    [20.05, '20.05ms'],
    [300, '300ms'],
    [61_000.000001, '1m1.000000001s'],
    [1500, '1.5s'],
    [75_000, '1m15s'],
    [3_600_000, '1h0m0s'],
  ];
  for (const [ms, text] of durations) assert.equal(durationText(ms), text);
});

test('a query context may have a namespace and backticks; others of more or fewer parts are refused', () => {
  for (const text of ['b.s', 'default:b.s', 'default:`b`.`s`', '`default`:`b`.`s`', ':b.s', ' `b`.s '])
    assert.deepEqual(parseQueryContext(text), { bucket: 'b', scope: 's' }, text);
  for (const text of ['', 'default:', '`default`:', ':']) assert.equal(parseQueryContext(text), null);
  assert.deepEqual(parseQueryContext('`default`.s'), { bucket: 'default', scope: 's' });
  for (const text of ['`default:b`', '`system`:b.s', 'default:default:b.s', '`b:b.s', 'b', '::b.s'])
    assert.throws(() => parseQueryContext(text), { code: 10201 }, text);
});
