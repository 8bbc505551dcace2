import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { assertGrowth } from '../../../test/support/growth.ts';
import { Redactor } from './redactor.ts';

const mark = (text: string) => `<ud>${createHash('sha1').update('salt').update(text).digest('hex')}</ud>`;
// Besides a plain name: the tag of the mark (`ud`), a name that is part of another, an internal account of the node, and an empty name.
const redactor = new Redactor('salt', ['jane', 'ud', 'Jane (of', 'Jane (of Kent)', '@local', '']);

for (const [what, text, redacted] of [
  [
    'a name as a word',
    'login of jane at noon, not of janet',
    `login of ${mark('jane')} at noon, not of janet`,
  ],
  ['a full name', '{"name": "Jane (of Kent)"}', `{"name": "${mark('Jane (of Kent)')}"}`],
  ['an unknown user', '{"user":"ghost","from":"::1"}', `{"user":"${mark('ghost')}","from":"::1"}`],
  [
    'a path of a user',
    'PUT /settings/rbac/users/local/ann%20b',
    `PUT /settings/rbac/users/local/${mark('ann b')}`,
  ],
  ['the key of a document', '/buckets/b/docs/secret-key?x', `/buckets/b/docs/${mark('secret-key')}?x`],
  ['a key that begins like an account of the node', '/docs/@alice', `/docs/${mark('@alice')}`],
  ['a key that begins like the name of a node', '/docs/ns_1@x HTTP', `/docs/${mark('ns_1@x')} HTTP`],
  ['a key that begins like a replaced text', '/docs/%3Cud%3Ex', `/docs/${mark('<ud>x')}`],
  ['a name before a full stop', 'Denied to jane.', `Denied to ${mark('jane')}.`],
  [
    'each address of a list',
    '{"recipients": [\n "ops@intranet",\n "a]b@c"\n], "enabled": true}',
    `{"recipients": [\n "${mark('ops@intranet')}",\n "${mark('a]b@c')}"\n], "enabled": true}`,
  ],
  [
    'each user of a list',
    '{"disabledUsers":[{"name":"ghost","domain":"external"}],"auditdEnabled":true}',
    `{"disabledUsers":[{"name":"${mark('ghost')}","domain":"external"}],"auditdEnabled":true}`,
  ],
  [
    'how names become distinguished names',
    '{"userDNMapping":{"template":"uid=%u,dc=corp"},"port":389}',
    `{"userDNMapping":{"template":"${mark('uid=%u,dc=corp')}"},"port":389}`,
  ],
  ['an empty list and an empty text', '{"recipients":[],"sender":"","userDNMapping":{}}', null],
  [
    'the text of an audited statement, which may contain documents',
    '{"statement":"INSERT INTO b VALUES (\\"k\\", {\\"ssn\\": 1})","id":28672}',
    `{"statement":"${mark('INSERT INTO b VALUES (\\"k\\", {\\"ssn\\": 1})')}","id":28672}`,
  ],
  ['a mail address', '"to: a.b@example.com,"', `"to: ${mark('a.b@example.com')},"`],
  ['the node and its accounts', '{"user":"@ns_server","node":"ns_1@cb.local"}', null],
  ['names of buckets', '{"name":"travel","bucket":"travel"}', null],
] as const)
  test(`redaction ${redacted === null ? 'keeps' : 'replaces'} ${what}`, () =>
    assert.equal(redactor.redact(text), redacted ?? text));

test('the time of redaction grows with the length of a text, also of one long word', async () => {
  await assertGrowth(1, 4_000, (length) => {
    redactor.redact(`{"text":"${'x'.repeat(length)}"}`);
    redactor.redact(`x@${'x'.repeat(length)}`);
  });
});
