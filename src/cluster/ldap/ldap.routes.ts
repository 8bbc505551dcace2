// Maps requests about LDAP to the service; the Community Edition refuses them.
import { generalRefusals } from '#contract/general.refusals.ts';
import { type BoundRoute, bind, reply } from '#contract/route.ts';
import type { Edition } from '../config/cluster-state.ts';
import { settingsRefusals } from '../refusals/settings.refusals.ts';
import * as contract from './ldap.contract.ts';
import type { LdapService } from './ldap.service.ts';
import { readLdapForm } from './ldap-form.ts';

export function ldapRoutes(service: LdapService, edition: Edition): BoundRoute[] {
  const requireEnterprise = () => {
    if (edition !== 'enterprise') throw generalRefusals.enterpriseOnly();
  };
  return [
    bind(contract.GetLdap, async () => {
      requireEnterprise();
      return reply.json(contract.shownLdap(await service.read()));
    }),
    bind(contract.ChangeLdap, async ({ body, justValidate }) => {
      requireEnterprise();
      const changes = readLdapForm(body);
      return reply.json(
        contract.shownLdap(justValidate ? await service.validate(changes) : await service.change(changes)),
      );
    }),
    bind(contract.TryLdapConnection, async ({ body }) => {
      requireEnterprise();
      const reason = await service.tryConnection(readLdapForm(body));
      return reply.json(reason === null ? { result: 'success' } : { result: 'error', reason });
    }),
    bind(contract.TryLdapGroups, async ({ body }) => {
      requireEnterprise();
      const changes = readLdapForm(body, ['groupsQueryUser']);
      const user = body['groupsQueryUser'];
      if (user === undefined) throw settingsRefusals.ldapGroupsNeedUser();
      const outcome = await service.tryGroups(changes, user);
      if (outcome.kind === 'found') return reply.json({ result: 'success', groups: outcome.groups });
      return reply.json({ result: 'error', reason: outcome.reason });
    }),
    bind(contract.InvalidateLdapCache, async () => {
      requireEnterprise();
      await service.clearAllCaches();
      return reply.json({});
    }),
    bind(contract.TryLdapLogin, async ({ body }) => {
      requireEnterprise();
      const changes = readLdapForm(body, ['authUser', 'authPass']);
      const { authUser, authPass } = body;
      if (authUser === undefined) throw settingsRefusals.ldapLoginNeedsUser();
      if (authPass === undefined) throw settingsRefusals.ldapLoginNeedsPassword();
      const outcome = await service.tryLogin(changes, authUser, authPass);
      if (outcome.kind === 'accepted') return reply.json({ result: 'success', dn: outcome.dn });
      return reply.json({ result: 'error', reason: outcome.reason });
    }),
  ];
}
