// ADVISE: its recommendations, and that the planner uses the recommended indexes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf, prepareOn, query } from '../../../test/support/engine-run.ts';
import { MemoryDatastore } from '../../../test/support/memory-datastore.ts';
import { keysToCover } from '../advice/covered-keys.ts';
import type { KeyUse } from '../advice/key-use.ts';
import { parseExpression } from '../text/parser.ts';
import type { Expression } from '../tree/expression.ts';

function aStore(): MemoryDatastore {
  const datastore = new MemoryDatastore();
  const shop = datastore.add('shop');
  for (let at = 0; at < 6; at++) {
    datastore.put(shop, `s${at}`, {
      type: at % 2 ? 'order' : 'item',
      tenant: 'one',
      city: `c${at}`,
      price: at,
      tags: [{ name: `t${at}`, weight: at }],
    });
  }
  return datastore;
}

interface Entry {
  readonly index_statement: string;
  readonly keyspace_alias?: string;
  readonly keyspace_aliases?: readonly string[];
  readonly recommending_rule?: unknown;
  readonly index_property?: string;
}

interface Info {
  readonly current_indexes?: readonly (Entry & { readonly index_status?: string })[];
  readonly recommended_indexes: string | { readonly covering_indexes?: Entry[]; readonly indexes?: Entry[] };
}

async function advise(statement: string, datastore = aStore()): Promise<Info> {
  const [row] = await query(datastore, `ADVISE ${statement}`);
  return (row as { advice: { adviseinfo: Info } }).advice.adviseinfo;
}

async function advised(
  statement: string,
  datastore = aStore(),
): Promise<{ plain: string[]; covering: string[] }> {
  const { recommended_indexes: found } = await advise(statement, datastore);
  if (typeof found === 'string') return { plain: [found], covering: [] };
  const textsOf = (entries: readonly Entry[] = []): string[] =>
    entries.map((entry) => entry.index_statement.replace('CREATE INDEX ', ''));
  return { plain: textsOf(found.indexes), covering: textsOf(found.covering_indexes) };
}

const table: readonly [statement: string, plain: readonly string[], covering: readonly string[]][] = [
  // A field that distinguishes kinds of documents becomes the condition, others remain keys.
  [
    'SELECT * FROM shop WHERE type = "order" AND price > 3',
    ["adv_price_type ON `shop`(`price`) WHERE `type` = 'order'"],
    [],
  ],
  ['SELECT * FROM shop WHERE city = "c1" AND price > 3', ['adv_city_price ON `shop`(`city`,`price`)'], []],
  ['SELECT * FROM shop WHERE price NOT BETWEEN 1 AND 3', ['adv_price ON `shop`(`price`)'], []],
  // A field with the same text in every document distinguishes nothing.
  [
    'SELECT city FROM shop WHERE tenant = "one" AND price > 3',
    ["adv_price_tenant ON `shop`(`price`) WHERE `tenant` = 'one'"],
    ["adv_price_tenant_city ON `shop`(`price`,`city`) WHERE `tenant` = 'one'"],
  ],
  // Either side of OR needs an index of its own, unless they share a key.
  [
    'SELECT * FROM shop WHERE price = 1 OR city = "c1"',
    ['adv_price ON `shop`(`price`)', 'adv_city ON `shop`(`city`)'],
    [],
  ],
  [
    'SELECT * FROM shop WHERE price < 1 OR (price > 4 AND city = "c5")',
    ['adv_price_city ON `shop`(`price`,`city`)'],
    [],
  ],
  // Elements of arrays.
  [
    'SELECT city FROM shop s WHERE ANY g IN s.tags SATISFIES g.name = "t1" AND g.weight > 0 END',
    [
      'adv_DISTINCT_tags_name_weight ON `shop`(DISTINCT ARRAY FLATTEN_KEYS(`g`.`name`,`g`.`weight`) FOR `g` IN `tags` END)',
    ],
    [
      'adv_DISTINCT_tags_name_weight_city ON `shop`(DISTINCT ARRAY FLATTEN_KEYS(`g`.`name`,`g`.`weight`) FOR `g` IN `tags` END,`city`)',
    ],
  ],
  [
    'SELECT * FROM shop s UNNEST s.tags AS g WHERE g.weight > 2',
    ['adv_ALL_tags_weight ON `shop`(ALL ARRAY `g`.`weight` FOR g IN `tags` END)'],
    [],
  ],
  // Order and groups decide the order of keys.
  [
    'SELECT city FROM shop WHERE price = 2 ORDER BY city DESC LIMIT 2',
    ['adv_price ON `shop`(`price`)'],
    ['adv_price_cityDESC ON `shop`(`price`,`city` DESC)'],
  ],
  [
    'SELECT SUM(price) FROM shop WHERE city > "a" GROUP BY city',
    ['adv_city ON `shop`(`city`)'],
    ['adv_city_price ON `shop`(`city`,`price`)'],
  ],
  [
    'SELECT city, price FROM shop',
    ['adv_city_price ON `shop`(`city` INCLUDE MISSING,`price`)'],
    ['adv_city_price ON `shop`(`city` INCLUDE MISSING,`price`)'],
  ],
  [
    'SELECT price FROM shop WHERE city IS MISSING',
    ['adv_cityISMISSING ON `shop`(`city` IS MISSING) WHERE `city` IS MISSING'],
    ['adv_cityISMISSING_price ON `shop`(`city` IS MISSING,`price`) WHERE `city` IS MISSING'],
  ],
  // An expression whose value differs from run to run is not a key. The fields in it are.
  [
    'SELECT price + RANDOM() AS p FROM shop WHERE city = "c1"',
    ['adv_city ON `shop`(`city`)'],
    ['adv_city_price ON `shop`(`city`,`price`)'],
  ],
  [
    'SELECT city FROM shop WHERE city > "c1" AND price + NOW_MILLIS() > 1',
    ['adv_city ON `shop`(`city`)'],
    ['adv_city_price ON `shop`(`city`,`price`)'],
  ],
  [
    'SELECT city FROM shop s WHERE city = "c1" AND ANY g IN s.tags SATISFIES g.weight * RANDOM() < 0 END',
    ['adv_city ON `shop`(`city`)'],
    ['adv_city_tags ON `shop`(`city`,`tags`)'],
  ],
  ['DELETE FROM shop WHERE price > 4', ['adv_price ON `shop`(`price`)'], ['adv_price ON `shop`(`price`)']],
  [
    'MERGE INTO shop t USING shop s ON t.city = s.city AND s.price = 1 WHEN MATCHED THEN UPDATE SET t.seen = true',
    ['adv_price ON `shop`(`price`)', 'adv_city ON `shop`(`city`)'],
    [],
  ],
  [
    'SELECT COUNT(*) FROM shop',
    ['No secondary index recommendation at this time, primary index may apply.'],
    [],
  ],
  ['SELECT * FROM nowhere WHERE a = 1 LIMIT 1', ['adv_a ON `nowhere`(`a`)'], []],
];

test('ADVISE recommends indexes by predicates, elements, order and groups', async () => {
  for (const [statement, plain, covering] of table)
    assert.deepEqual(await advised(statement), { plain, covering }, statement);
});

/** Whether the planner can use the recommended index here: the store in memory has no FLATTEN_KEYS, and no query can use an IS MISSING key. */
function isPlanned(statement: string, [first = '']: readonly string[]): boolean {
  return (
    statement.startsWith('SELECT') && !/nowhere|IS MISSING/.test(statement) && !/^No |FLATTEN/.test(first)
  );
}

test('the planner uses each recommended index, and returns the same rows', async () => {
  for (const [statement, plain, covering] of table) {
    if (!isPlanned(statement, plain)) continue;
    const before = await query(aStore(), statement);
    for (const [index, isCovering] of [
      ...plain.map((text) => [text, false] as const),
      ...covering.map((text) => [text, true] as const),
    ]) {
      const datastore = aStore();
      await query(datastore, `CREATE INDEX ${index}`);
      const text = JSON.stringify(await query(datastore, `EXPLAIN ${statement}`));
      if (plain.length === 1) assert.match(text, /"index":"adv_/, `${statement} with ${index}`);
      if (isCovering && !index.includes('DISTINCT '))
        assert.doesNotMatch(text, /"#operator":"Fetch"/, `${statement} with ${index}`);
      const sorted = (rows: unknown[]): string[] => rows.map((row) => JSON.stringify(row)).sort();
      if (!statement.includes('LIMIT'))
        assert.deepEqual(sorted(await query(datastore, statement)), sorted(before), statement);
    }
  }
});

test('ADVISE reports that the used indexes are already optimal', async () => {
  const datastore = aStore();
  await query(datastore, "CREATE INDEX mine ON shop(price) WHERE type = 'order'");
  const plain = await advise('SELECT * FROM shop WHERE type = "order" AND price > 3', datastore);
  assert.equal(plain.recommended_indexes, 'No index recommendation at this time.');
  assert.equal(plain.current_indexes?.[0]?.index_status, 'SAME AS THE INDEX WE CAN RECOMMEND');
  await query(datastore, 'CREATE INDEX both ON shop(city, price)');
  const covered = await advise('SELECT price FROM shop WHERE city = "c1"', datastore);
  assert.equal(covered.current_indexes?.[0]?.index_status, 'THIS IS AN OPTIMAL COVERING INDEX.');
  assert.equal(covered.recommended_indexes, 'No index recommendation at this time.');
});

test('an index that serves several aliases is recommended once, with the rule of each', async () => {
  const { recommended_indexes: found } = await advise(
    'SELECT a.city, b.price FROM shop a JOIN shop b ON b.city = a.city JOIN shop c ON c.city = a.city WHERE a.price = 1',
  );
  assert.ok(typeof found === 'object');
  const entry = found.indexes?.find(({ index_statement }) => index_statement.endsWith('(`city`)'));
  assert.deepEqual(entry?.keyspace_aliases, ['shop_b', 'shop_c']);
  assert.deepEqual(Object.keys(entry?.recommending_rule as object), ['shop_b', 'shop_c']);
});

test('ADVISE truncates long index names and keeps them unique', async () => {
  const fields = (last: string): string =>
    [...Array.from({ length: 12 }, (_, at) => `long_field_${at} = ${at}`), `${last} = 1`].join(' AND ');
  const names = await Promise.all(
    ['x', 'y'].map(
      async (last) => (await advised(`SELECT * FROM shop WHERE ${fields(last)}`)).plain[0]?.split(' ')[0],
    ),
  );
  assert.notEqual(names[0], names[1]);
  for (const name of names) assert.ok(name && name.length <= 74, name);
});

test('ADVISE recommends indexes for statements that call user-defined functions', async () => {
  const functions = {
    plain: { parameters: ['x'], isVariadic: false, language: 'inline', body: 'x + 1' },
    external: { parameters: ['x'], isVariadic: false, language: 'javascript', body: 'f' },
  } as const;
  const userFunctions = { find: ([name]: readonly string[]) => functions[name as keyof typeof functions] };
  for (const name of Object.keys(functions)) {
    const statement = `ADVISE SELECT ${name}(price) FROM shop WHERE city = "c1" AND ${name}(price) = 2`;
    const [row] = await query(aStore(), statement, { userFunctions });
    assert.match(JSON.stringify(row), /ON `shop`\(`city`/, name);
  }
});

test('ADVISE handles an OR of many sides in bounded time', async () => {
  const ors = Array.from({ length: 20 }, (_, at) => `(f${at} = 1 OR g${at} = 2)`).join(' AND ');
  assert.ok((await advised(`SELECT * FROM shop WHERE price = 1 AND ${ors}`)).plain[0]?.includes('`price`'));
});

test('the rule of a recommendation counts NOT BETWEEN as two ranges, and LIKE with a constant prefix as one range', async () => {
  const rule = async (condition: string): Promise<unknown> => {
    const { recommended_indexes: found } = await advise(`SELECT * FROM shop WHERE ${condition}`);
    return typeof found === 'string' ? found : found.indexes?.[0]?.recommending_rule;
  };
  const order = 'Index keys follow order of predicate types: ';
  const shared = `${order}1. Common leading key for disjunction`;
  assert.equal(await rule('price NOT BETWEEN 1 AND 3'), `${shared} (5. less than/greater than).`);
  const between = '4. not less than/between/not greater than';
  assert.equal(await rule('city LIKE "Par%" OR city LIKE "Lon%"'), `${shared} (${between}).`);
  assert.equal(await rule('city LIKE "Par%"'), `${order}${between}.`);
  assert.equal(await rule('city LIKE "%ar"'), `${order}8. like.`);
});

test('other requests run between the large documents of the sample of ADVISE', async () => {
  const datastore = new MemoryDatastore();
  const shop = datastore.add('shop');
  for (let at = 0; at < 5; at++)
    datastore.put(shop, `s${at}`, { filling: 'x'.repeat(100_000), state: 'sold', price: at });
  const prepared = prepareOn(datastore, 'ADVISE SELECT * FROM shop WHERE state = "sold" AND price > 3');
  let pauses = 0;
  const context = {
    ...contextOf(datastore),
    pause: async () => {
      pauses++;
    },
  };
  const rows: string[] = [];
  for await (const batch of prepared.program.run(prepared, context).rows)
    rows.push(...batch.map((row) => JSON.stringify(row)));
  assert.match(rows.join(), /WHERE state = 'sold'|WHERE `state` = 'sold'/);
  assert.equal(pauses, 5);
});

test('each of many advised keys is asked once for what it provides, not for each field of the statement', () => {
  const source = { alias: 's', slot: 0, idSlot: 1, metaSlot: 2 } as Parameters<
    typeof keysToCover
  >[0]['source'];
  const fields = Array.from({ length: 100 }, (_, at) => `s.f${at}`);
  let asked = 0;
  const indexKeys = fields.map(
    (text): KeyUse => ({
      text,
      name: text,
      rank: 0,
      isMissing: false,
      flavor: undefined,
      get provides(): () => boolean {
        asked++;
        return () => false;
      },
    }),
  );
  const expressions = fields.map((field) => overSlot(parseExpression(field)));
  const added = keysToCover({ source, expressions, indexKeys, elementSlots: new Set() });
  assert.equal(added?.length, 100);
  assert.equal(asked, 100);
});

/** The field with the slot of the source in place of its alias. */
function overSlot(field: Expression): Expression {
  assert.ok(field.kind === 'field');
  return { ...field, of: { kind: 'slot', slot: 0, original: field.of, at: 0 } };
}
