// Refusals of requests about server groups.
import { defineRefusals } from '#contract/refusal.ts';

export const serverGroupRefusals = defineRefusals('server_groups', {
  invalidName: { as: 'bare', field: 'name', text: '{problem}' },
  exists: { as: 'bare', field: 'name', text: 'already exists', published: true },
  unknown: { status: 404, as: 'json', text: 'Could not find group with uuid: {uuid}' },
  notEmpty: { as: 'bare', text: 'group is not empty', published: true },
  last: { as: 'bare', text: 'the last group cannot be deleted' },
  tooMany: { as: 'bare', text: 'There are already {limit} groups, which is the limit.' },
  changed: {
    status: 409,
    as: 'bare',
    text: 'The groups have changed since they were read: read them again, and send the change to the `uri` of that answer.',
  },
  malformed: { as: 'bare', text: '{problem}' },
});
