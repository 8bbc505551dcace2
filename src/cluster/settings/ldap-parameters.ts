// Parameters of logins through an LDAP server.
import { type SettingGroup, setting } from './setting.ts';

const truth = '`true`, `false`';

export const ldapParameters: readonly SettingGroup[] = [
  {
    title: 'External users through LDAP',
    routes: ['ldap.change', 'ldap.try_connection', 'ldap.try_login', 'ldap.try_groups'],
    settings: [
      setting(
        'authenticationEnabled',
        '`false`',
        truth,
        'live',
        'acts',
        'passwords of external users are checked by a bind',
      ),
      setting(
        'authorizationEnabled',
        '`false`',
        truth,
        'live',
        'acts',
        'users have the roles of groups whose `ldap_group_ref` is one of their groups there, also users that are not stored here',
      ),
      setting(
        'groupsQuery',
        'none',
        '`base?attribute?scope?filter` with `%u` or `%D`',
        'live',
        'acts',
        'the groups of a user: values of the attribute, or without one the entries found',
      ),
      setting(
        'nestedGroupsEnabled',
        '`false`',
        truth,
        'live',
        'acts',
        'asks for the groups of groups, by `%D`',
      ),
      setting('nestedGroupsMaxDepth', '10', '1–100', 'live', 'acts'),
      setting('failOnMaxDepth', '`false`', truth, 'live', 'acts', '`false`: deeper groups do not count'),
      setting(
        'hosts',
        'none',
        'up to 16 names or addresses with commas between',
        'live',
        'acts',
        'the next is asked when one does not answer',
      ),
      setting('port', '389', '0–65535', 'live', 'acts'),
      setting('encryption', '`None`', '`None`, `StartTLSExtension`, `TLS`', 'live', 'acts'),
      setting('serverCertValidation', '`true`', truth, 'live', 'acts', '`false`: any certificate will do'),
      setting(
        'cacert',
        'none',
        'PEM',
        'live',
        'acts',
        'besides the authorities of the machine and of the cluster',
      ),
      setting(
        'userDNMapping',
        'none: the name is the distinguished name',
        'JSON: `{"template":"uid=%u,…"}` or `{"query":"base??one?(uid=%u)"}`',
        'live',
        'acts',
      ),
      setting('bindDN', 'empty', 'a distinguished name', 'live', 'acts', 'who looks names up for a query'),
      setting('bindPass', 'empty', 'up to 1024 bytes', 'live', 'acts', 'kept encrypted, never shown'),
      setting('requestTimeout', '5000', '1–60000', 'live', 'acts', 'milliseconds, of each host'),
      setting('maxParallelConnections', '100', '1–1000', 'live', 'acts', 'logins beyond are refused'),
      setting(
        'maxCacheSize',
        '10000',
        '0–10000',
        'live',
        'acts',
        'right passwords that are remembered, as digests in memory',
      ),
      setting(
        'cacheValueLifetime',
        '300000',
        '0 and up',
        'live',
        'acts',
        'milliseconds that one is remembered',
      ),
    ],
  },
  {
    title: 'Tries of LDAP',
    routes: ['ldap.try_login'],
    settings: [
      setting('authUser', 'required', 'a name', 'live', 'acts'),
      setting('authPass', 'required', 'a password', 'live', 'acts'),
    ],
  },
  {
    title: 'Tries of LDAP groups',
    routes: ['ldap.try_groups'],
    settings: [setting('groupsQueryUser', 'required', 'a name', 'live', 'acts')],
  },
];
