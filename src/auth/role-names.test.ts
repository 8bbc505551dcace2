import { test } from 'node:test';
import { parseRoles, roleText } from './role-names.ts';

test('lists of roles are parsed, and entries that are not roles reported', (t) => {
  const table: [string, string[], string[]][] = [
    ['admin', ['admin'], []],
    ['Admin, ro_admin', ['admin', 'ro_admin'], []],
    ['data_reader[b:s:c]', ['data_reader[b:s:c]'], []],
    ['data_reader[b:*:*],data_reader[b]', ['data_reader[b]'], []],
    ['data_reader[*],bucket_admin[*]', ['data_reader[*]', 'bucket_admin[*]'], []],
    ['data_reader,admin[b],data_reader[],x[', [], ['data_reader', 'admin[b]', 'data_reader[]', 'x[']],
    [
      'bucket_admin[b:s],data_reader[*:s],data_reader[b::c]',
      [],
      ['bucket_admin[b:s]', 'data_reader[*:s]', 'data_reader[b::c]'],
    ],
    ['nonsense,,', [], ['nonsense']],
    ['constructor,__proto__', [], ['constructor', '__proto__']],
  ];
  t.plan(table.length);
  for (const [list, valid, invalid] of table) {
    const parsed = parseRoles(list);
    t.assert.deepEqual([parsed.roles.map(roleText), parsed.invalid], [valid, invalid], list);
  }
});
