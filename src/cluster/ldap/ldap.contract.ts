// Routes of the LDAP settings and of their tests.
import { shape } from '#contract/json-schema.ts';
import { type Access, defineRoute } from '#contract/route.ts';
import { ldapShape } from '../settings/settings.shapes.ts';
import type { LdapSettings } from './ldap-settings.ts';

const read: Access = { kind: 'permission', permission: 'cluster.admin.security.external!read' };
const write: Access = { kind: 'permission', permission: 'cluster.admin.security.external!write' };
const testResult = shape.object(
  { result: shape.oneOf('success', 'error') },
  { dn: shape.string, reason: shape.string, groups: shape.array(shape.string) },
);

export const GetLdap = defineRoute({
  id: 'ldap.read',
  method: 'GET',
  path: '/settings/ldap',
  access: read,
  answer: { json: ldapShape },
  doc: 'The settings of the LDAP server that checks passwords of external users. Passwords are never shown.',
});

export const ChangeLdap = defineRoute({
  id: 'ldap.change',
  method: 'POST',
  path: '/settings/ldap',
  access: write,
  bodyKind: 'form',
  acceptsJustValidate: true,
  answer: { json: ldapShape },
  doc: 'Changes the LDAP settings that are sent and keeps the others.',
});

export const TryLdapConnection = defineRoute({
  id: 'ldap.try_connection',
  method: 'POST',
  path: '/settings/ldap/validate/connectivity',
  access: write,
  bodyKind: 'form',
  changesNothing: true,
  answer: { json: testResult },
  doc: 'Connects to the LDAP server with the stored settings and those in the form, which are not stored.',
});

export const TryLdapLogin = defineRoute({
  id: 'ldap.try_login',
  method: 'POST',
  path: '/settings/ldap/validate/authentication',
  access: write,
  bodyKind: 'form',
  changesNothing: true,
  answer: { json: testResult },
  doc: 'Logs `authUser` in with `authPass` by the stored settings and those in the form, which are not stored.',
});

export const TryLdapGroups = defineRoute({
  id: 'ldap.try_groups',
  method: 'POST',
  path: '/settings/ldap/validate/groupsQuery',
  access: write,
  bodyKind: 'form',
  changesNothing: true,
  answer: { json: testResult },
  doc: 'Finds the groups of `groupsQueryUser` by the stored settings and those in the form, which are not stored.',
});

export const InvalidateLdapCache = defineRoute({
  id: 'ldap.invalidate',
  method: 'POST',
  path: '/settings/invalidateLDAPCache',
  access: write,
  answer: { json: shape.object({}) },
  doc: 'Clears the caches of accepted passwords and of groups on all nodes: the next login queries the LDAP server again.',
});

const hidden = '**********';

export function shownLdap({
  bindPass,
  cacert,
  groupsQuery,
  clientTLSCert,
  clientTLSKey,
  ...settings
}: LdapSettings) {
  const secret = bindPass === '' ? '' : hidden;
  return {
    ...settings,
    bindPass: secret,
    ...(cacert !== '' && { cacert }),
    ...(clientTLSCert !== '' && { clientTLSCert }),
    ...(clientTLSKey !== '' && { clientTLSKey: hidden }),
    ...(groupsQuery !== '' && { groupsQuery }),
  };
}
