// Refusals of requests about users, groups, roles and permissions.
import { fieldText } from '#contract/field-text.ts';
import { defineRefusals } from '#contract/refusal.ts';

export const userRefusals = defineRefusals('users', {
  unknownDomain: { status: 404, as: 'json', text: 'Unknown user domain.', published: true },
  unknownUser: { status: 404, as: 'json', text: 'Unknown user.', published: true },
  userNotFound: { status: 404, as: 'json', text: 'User was not found.', published: true },
  unknownGroup: { status: 404, as: 'json', text: 'Unknown group.', published: true },
  groupNotFound: { status: 404, as: 'json', text: 'Group was not found.', published: true },
  startFromDomainRequired: {
    as: 'fields',
    field: 'startFromDomain',
    text: fieldText.required,
    published: true,
  },
  invalidName: { as: 'fields', text: '{problem}', when: 'The name of the user or group in the path.' },
  unknownGroups: { as: 'fields', field: 'groups', text: '{problem}' },
  passwordRequired: {
    as: 'fields',
    field: 'password',
    text: 'Password is required for new user.',
    published: true,
  },
  administratorsName: { as: 'fields', text: 'This is the name of the administrator.' },
  tooManyUsers: { as: 'fields', text: 'There are already {limit} users, which is the limit.' },
  tooManyCommunityUsers: {
    as: 'fields',
    text: 'You cannot create any more users on Community Edition.',
    published: true,
  },
  tooManyGroups: { as: 'fields', text: 'There are already {limit} groups, which is the limit.' },
  passwordOfExternalUser: {
    status: 404,
    as: 'text',
    text: 'Changing of password is not allowed for this user.',
    published: true,
  },
  passwordChanged: {
    status: 409,
    as: 'text',
    text: 'The password was changed meanwhile.',
    when: 'Another password was set while a user changed their own.',
  },
  changedMeanwhile: {
    status: 412,
    as: 'text',
    text: 'The user or group is not as it was read: it was changed or deleted meanwhile.',
    when: 'The request has `If-Match` with another tag.',
  },
  noPermissions: { as: 'json', text: 'Request body should not be empty.', published: true },
  malformedPermissions: { as: 'json', text: 'Malformed permissions: [{permissions}].', published: true },
});
