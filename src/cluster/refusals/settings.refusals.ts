// Refusals of requests about settings.
import { fieldText } from '#contract/field-text.ts';
import { defineRefusals } from '#contract/refusal.ts';

export const settingsRefusals = defineRefusals('settings', {
  invalidSecurity: { as: 'errorList', when: 'Security settings: one text for each wrong key or value.' },
  readOnlyKey: { as: 'errorList', text: '{key} - Property is readonly', published: true },
  unknownKey: { status: 404, as: 'errorList', text: 'Unknown key {key}', published: true },
  keyNeedsEnterprise: {
    as: 'errorList',
    text: '{key} - not supported in community edition',
    published: true,
  },
  resetNotSupported: {
    as: 'errorList',
    text: 'Not supported',
    when: 'Security settings are reset key by key.',
    published: true,
  },
  noSuchPart: {
    status: 404,
    as: 'json',
    text: 'Not found',
    when: 'The path names no security setting.',
    published: true,
  },
  invalidInternal: { as: 'errorList', when: 'Internal settings: one text for each wrong parameter.' },
  invalidParallelIndexers: { as: 'bare', text: 'Invalid globalValue: {problem}', published: true },
  invalidDataSettings: { as: 'bare', when: 'Settings of the data service: each wrong field with its text.' },
  noDataSetting: {
    status: 404,
    value: () => [],
    sample: '[]',
    when: 'Settings of the data service: no such node, or a value that was never set.',
  },
  invalidCollection: { as: 'bare', when: 'Collecting logs: each wrong field with its text.' },
  collectionRuns: { as: 'bare', text: 'Logs collection task is already started', published: true },
  invalidCurlAllowlist: { as: 'fields', text: '{problem}' },
  invalidAutoFailover: { as: 'text', when: 'Auto-failover: one line for each wrong parameter.' },
  invalidAutoCompaction: {
    value: (fields: Readonly<Record<string, string>>) => ({ ...fields, errors: fields }),
    sample: '{"{field}":"{text}","errors":{"{field}":"{text}"}}',
    when: 'Auto-compaction: each wrong field, at the top level and under errors.',
  },
  invalidClientAllowlist: { as: 'fields', field: 'entries', text: '{problem}' },
  listenerInUse: {
    as: 'fields',
    text: 'The listener ({listener}) is in use. Choose another by setupNetConfig first.',
  },
  longSubject: { as: 'fields', field: 'subject', text: 'subject is too long.' },
  noRecipients: { as: 'bare', field: 'error', text: 'there are no recipients' },
  tooManyTestMails: { as: 'bare', field: 'error', text: 'too many test mails are in progress' },
  mailNotSent: { as: 'bare', field: 'error', text: '{reason}' },
  recipientsRefused: { as: 'bare', field: 'error', text: 'the mail server refused {recipients}' },
  mailExtensionsUnsupported: {
    as: 'bare',
    field: 'error',
    text: 'the mail server accepted the mail, but offers {missing}',
  },
  ldapLoginNeedsUser: { as: 'fields', field: 'authUser', text: fieldText.required, published: true },
  ldapGroupsNeedUser: { as: 'fields', field: 'groupsQueryUser', text: fieldText.required, published: true },
  ldapLoginNeedsPassword: { as: 'fields', field: 'authPass', text: fieldText.required, published: true },
});
