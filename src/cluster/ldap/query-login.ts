// Logs in at an LDAP server before a query: with the account that the settings name for queries.
import type { Client } from 'ldapts';
import type { LdapSettings } from './ldap-settings.ts';

/** A refusal by the LDAP server: other hosts are not tried, since they would answer the same. */
export class LdapRefusalError extends Error {}

export async function bindForQueries(
  client: Client,
  { bindDN, bindPass, bindMethod }: LdapSettings,
): Promise<void> {
  if (bindMethod === 'SASL_EXTERNAL') await client.bind('EXTERNAL');
  else await client.bind(bindDN, bindPass);
}
