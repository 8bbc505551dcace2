// Refusals of more than one area.
import { fieldText } from './field-text.ts';
import { defineRefusals } from './refusal.ts';

export const generalRefusals = defineRefusals('general', {
  invalidFields: { as: 'fields', when: 'Each wrong field with its text.' },
  invalidJson: { as: 'fields', text: fieldText.invalidJson, published: true },
  unexpectedJson: { as: 'fields', text: fieldText.unexpectedJson, published: true },
  /** The path names a resource that does not exist. */
  notFound: { status: 404, as: 'text', text: 'Requested resource not found.\r\n', published: true },
  /** The caller's roles do not grant the requested change, although they grant the route. */
  forbidden: {
    status: 403,
    value: (permissions: readonly string[]) => ({
      message: 'Forbidden. User needs the following permissions',
      permissions,
    }),
    sample: '{"message":"Forbidden. User needs the following permissions","permissions":["{permission}"]}',
    published: true,
  },
  /** A feature that the community edition does not have. */
  enterpriseOnly: {
    as: 'text',
    text: 'This http API endpoint requires enterprise edition',
    headers: { 'X-enterprise-edition-needed': '1' },
    published: true,
  },
  /** A user has reached a limit, while `enforceLimits` is on. */
  limitsExceeded: { status: 429, as: 'text', text: 'Limit(s) exceeded [{limits}]', published: true },
  busyHashing: {
    status: 503,
    as: 'json',
    text: 'Temporary error occurred. Please try again later.',
    when: 'Too many logins wait for the verification of their passwords.',
    published: true,
  },
});
