// Schemas of users, groups and roles.
import { shape } from '#contract/json-schema.ts';

const { object, each, array, string, integer, oneOf, either, time, named } = shape;

const roleNames = each(string, 'bucket_name', 'scope_name', 'collection_name');
const origins = array(object({ type: oneOf('user', 'group') }, { name: string }));

export const roleShape = object(
  { role: string, name: string, desc: string },
  { ...roleNames, ce: shape.boolean },
);

const granted = object({ role: string }, { ...roleNames, origins });

export const userShape = named(
  'User',
  object(
    {
      id: string,
      domain: oneOf('local', 'admin', 'external'),
      roles: array(granted),
      groups: array(string),
      external_groups: array(string),
    },
    { name: string, uuid: string, password_change_date: time, limits: shape.record(shape.record(integer)) },
  ),
);

export const groupShape = named(
  'Group',
  object({ id: string, roles: array(granted) }, { description: string, ldap_group_ref: string }),
);

const page = { total: integer, links: shape.record(string), skipped: integer };

export const usersShape = either(array(userShape), object({ ...page, users: array(userShape) }));
export const groupsShape = either(array(groupShape), object({ ...page, groups: array(groupShape) }));

export const whoAmIShape = object(
  { id: string, domain: oneOf('local', 'external', 'admin', 'anonymous'), roles: array(granted) },
  { name: string, uuid: string, password_change_date: time },
);
