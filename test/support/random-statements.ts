// Random documents, statements over them, and indexes of every kind for them. Indexes must not change the rows of statements.

/** From 0 to below 1. */
export type Fraction = () => number;

export function pick<T>(random: Fraction, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)] as T;
}

export function scalar(random: Fraction): unknown {
  return pick(random, [
    null,
    true,
    false,
    0,
    1,
    2,
    3,
    5,
    -1,
    1.5,
    '',
    'a',
    'ab',
    'b',
    'z',
    'é',
    '\u{1f600}',
    '\uffff',
    [],
    [1],
    {},
  ]);
}

const scalars = (random: Fraction): unknown[] =>
  Array.from({ length: Math.floor(random() * 4) }, () => scalar(random));

export function aDocument(random: Fraction): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const name of ['a', 'b', 'c']) if (random() < 0.85) document[name] = scalar(random);
  if (random() < 0.8) document['tags'] = scalars(random);
  if (random() < 0.5)
    document['items'] = Array.from({ length: Math.floor(random() * 3) }, () => ({
      k: scalar(random),
      n: Math.floor(random() * 4),
      ...(random() < 0.7 && { vs: random() < 0.9 ? scalars(random) : scalar(random) }),
    }));
  if (random() < 0.1) document['tags'] = scalar(random);
  if (random() < 0.5) document['o'] = { x: scalar(random), y: { z: scalar(random) } };
  return document;
}

export const indexes = [
  'CREATE INDEX i1 ON t(a)',
  'CREATE INDEX i2 ON t(a, b DESC)',
  'CREATE INDEX i3 ON t(b, a, c)',
  'CREATE INDEX i4 ON t(c) WHERE a > 1',
  'CREATE INDEX i5 ON t(DISTINCT ARRAY v FOR v IN tags END)',
  'CREATE INDEX i6 ON t(ALL tags, a)',
  'CREATE INDEX i7 ON t(DISTINCT ARRAY i.k FOR i IN items WHEN i.n > 1 END)',
  'CREATE INDEX i8 ON t(o.x, o.y.z)',
  'CREATE INDEX i9 ON t(a INCLUDE MISSING, c)',
  'CREATE INDEX i10 ON u(ref)',
  'CREATE INDEX i11 ON u(a, ref)',
  'CREATE PRIMARY INDEX ON t',
  'CREATE INDEX i12 ON t(a, meta().id)',
  'CREATE INDEX i13 ON t(b DESC, a DESC)',
  'CREATE INDEX i14 ON t(DISTINCT ARRAY FLATTEN_KEYS(i.k, i.n DESC) FOR i IN items END)',
  'CREATE INDEX i16 ON t(DISTINCT ARRAY (DISTINCT ARRAY v FOR v IN i.vs END) FOR i IN items END)',
  'CREATE INDEX i17 ON t(ALL ARRAY (ALL ARRAY v FOR v IN i.vs WHEN v > 0 END) FOR i IN items WHEN i.n > 0 END, a)',
  'CREATE INDEX i18 ON t(a, DISTINCT ARRAY (ALL i.vs) FOR i IN items END)',
  'CREATE INDEX i15 ON t(c DESC INCLUDE MISSING) WHERE b IS NOT MISSING',
];

/** A random value as a literal. */
function literal(random: Fraction): string {
  return JSON.stringify(scalar(random));
}

function predicate(random: Fraction, alias: string, depth = 0): string {
  const field = `${alias}.${pick(random, ['a', 'b', 'c', 'o.x', 'o.y.z'])}`;
  const kinds: (() => string)[] = [
    () => `${field} ${pick(random, ['=', '<', '<=', '>', '>=', '!='])} ${literal(random)}`,
    () => `${literal(random)} ${pick(random, ['=', '<', '>='])} ${field}`,
    () => `${field} BETWEEN ${literal(random)} AND ${literal(random)}`,
    () => `${field} IN [${literal(random)}, ${literal(random)}, ${literal(random)}]`,
    () => `${field} NOT IN ${pick(random, ['[]', 'SPLIT("")', `[${literal(random)}]`])}`,
    () => `NOT (LENGTH(${field}) IN ${pick(random, ['[]', `[${literal(random)}, 1]`])})`,
    () => `${field} IS ${pick(random, ['', 'NOT '])}${pick(random, ['NULL', 'MISSING', 'VALUED'])}`,
    () => `${field} LIKE ${pick(random, ['"a%"', '"%b"', '"a_"', '"a"', '"%"'])}`,
    () => `ANY v IN ${alias}.tags SATISFIES v = ${literal(random)} END`,
    () => `ANY v IN ${alias}.tags SATISFIES v > ${literal(random)} END`,
    () => `${literal(random)} IN ${alias}.tags`,
    () => `ANY i IN ${alias}.items SATISFIES i.n > 1 AND i.k = ${literal(random)} END`,
    () =>
      `ANY i IN ${alias}.items SATISFIES i.k = ${literal(random)} AND i.n < ${Math.floor(random() * 4)} END`,
    () => {
      const inner = `ANY v IN i.vs SATISFIES v ${pick(random, ['=', '>', '<='])} ${literal(random)}`;
      const rest = pick(random, ['END', 'AND v > 0 END']);
      return `ANY i IN ${alias}.items SATISFIES ${pick(random, ['', 'i.n > 0 AND '])}(${inner} ${rest}) END`;
    },
    () => `ANY i IN ${alias}.items SATISFIES ${literal(random)} IN i.vs END`,
    () => `EVERY v IN ${alias}.tags SATISFIES v > ${literal(random)} END`,
    () => `META(${alias}).id = "t${Math.floor(random() * 70)}"`,
    () => `NOT (${field} = ${literal(random)})`,
  ];
  if (depth < 2) {
    const inner = (): string => predicate(random, alias, depth + 1);
    kinds.push(
      () => `(${inner()} AND ${inner()})`,
      () => `(${inner()} OR ${inner()})`,
      () => `(${inner()} AND ${inner()})`,
    );
  }
  return pick(random, kinds)();
}

export function statement(random: Fraction): string {
  const where = random() < 0.85 ? ` WHERE ${predicate(random, 't')}` : '';
  const order = random() < 0.4 ? ` ORDER BY t.a${pick(random, ['', ' DESC'])}, META(t).id` : '';
  return pick(random, [
    () => `SELECT META(t).id, t.a, t.b FROM t${where}${order}`,
    () => `SELECT RAW META(t).id FROM t${where}${order}`,
    () => `SELECT t.a, t.c FROM t${where}`,
    () =>
      `SELECT META(t).id, t.a FROM t${where} ORDER BY t.a, META(t).id LIMIT ${Math.floor(random() * 6)} OFFSET ${Math.floor(random() * 3)}`,
    () =>
      `SELECT META(t).id, g FROM t UNNEST t.items AS h UNNEST h.vs AS g${where ? `${where} AND` : ' WHERE'} g ${pick(random, ['=', '>'])} ${literal(random)}`,
    () => `SELECT t.a, COUNT(*) AS n, COUNT(t.b) AS m FROM t${where} GROUP BY t.a`,
    () => `SELECT COUNT(*) AS n FROM t${where}`,
    () => `SELECT DISTINCT t.b FROM t${where}`,
    () =>
      `SELECT META(t).id, g FROM t UNNEST t.tags AS g${where ? `${where} AND` : ' WHERE'} g ${pick(random, ['=', '>', '<'])} ${literal(random)}`,
    () =>
      `SELECT META(t).id, META(u).id AS u FROM t ${pick(random, ['', 'LEFT '])}JOIN u ON u.ref = META(t).id${where}`,
    () =>
      `SELECT META(t).id, META(u).id AS u FROM u ${pick(random, ['', 'LEFT '])}JOIN t ON META(t).id = u.ref`,
    () =>
      `SELECT META(t).id, META(u).id AS u FROM t JOIN u ON u.a = t.a AND ${predicate(random, 'u')}${where}`,
    () =>
      `SELECT META(t).id, us FROM t ${pick(random, ['', 'LEFT '])}NEST u us ON us.ref = META(t).id${where}`,
    () =>
      `SELECT META(t).id, (SELECT RAW META(u).id FROM u WHERE u.ref = META(t).id ORDER BY META(u).id) AS us FROM t${where}`,
    () => `SELECT META(t).id FROM t${where} UNION SELECT META(u).id FROM u WHERE ${predicate(random, 'u')}`,
    () =>
      `SELECT t.a FROM t ${pick(random, ['INTERSECT', 'EXCEPT', 'UNION'])} ${pick(random, ['', 'ALL '])}SELECT u.a FROM u`,
    () =>
      `SELECT META(t).id, META(u).id AS u FROM t ${pick(random, ['', 'LEFT '])}JOIN u USE HASH(build) ON u.a = t.a${where}`,
    () => `SELECT META(t).id, SUM(t.a) OVER (PARTITION BY t.b) AS s FROM t${where}`,
  ])();
}

export function sorted(rows: readonly unknown[]): string[] {
  return rows.map((row) => JSON.stringify(row, nested)).sort();
}

/** Arrays of NEST have no order. */
function nested(name: string, value: unknown): unknown {
  return name === 'us' && Array.isArray(value) ? value.map((item) => JSON.stringify(item)).sort() : value;
}
