// A cluster manager with a fake LDAP server.
import type {
  DirectoryServer,
  GroupsOutcome,
  LoginOutcome,
} from '../../src/cluster/ldap/directory-server.ts';
import type { LdapSettings } from '../../src/cluster/ldap/ldap-settings.ts';
import { aManager } from './manager.ts';

export const externalUsers = '/settings/rbac/users';
export const onLdap = { authenticationEnabled: 'true', hosts: 'h', userDNMapping: '{"template":"uid=%u"}' };

/** Accepts every user with the password `NAME-secret`. */
class FakeDirectory implements DirectoryServer {
  readonly queried: string[] = [];
  settings: LdapSettings | null = null;
  /** By name; null: the server does not answer. */
  memberOf: Record<string, readonly string[]> | null = {};
  async groups(_: LdapSettings, name: string): Promise<GroupsOutcome> {
    if (this.memberOf === null) return { kind: 'failed', reason: 'no answer' };
    return { kind: 'found', groups: this.memberOf[name] ?? [] };
  }
  async login(settings: LdapSettings, name: string, password: string): Promise<LoginOutcome> {
    this.queried.push(name);
    this.settings = settings;
    return password === `${name}-secret`
      ? { kind: 'accepted', dn: name }
      : { kind: 'refused', reason: 'wrong' };
  }
  async reach(settings: LdapSettings): Promise<string | null> {
    return settings.hosts.length > 0 ? null : 'no LDAP host is set';
  }
}

export async function aDirectory() {
  const directory = new FakeDirectory();
  const node = await aManager({ directoryServer: directory });
  const put = (name: string, roles: string, domain = 'external') =>
    node.request(`${externalUsers}/${domain}/${name}`, {
      method: 'PUT',
      form: { roles, ...(domain === 'local' && { password: 'local-secret' }) },
    });
  const whoami = async (as: string) => {
    let answer: Awaited<ReturnType<typeof node.request>> | undefined;
    void node.request('/whoami', { as }).then((received) => {
      answer = received;
    });
    // The answer to a refused login is delayed.
    while (answer === undefined) {
      node.clock.advance(100);
      await new Promise(setImmediate);
    }
    const { status, body } = answer;
    return status === 200 ? [status, body.id, body.domain] : [status];
  };
  return { ...node, directory, put, whoami };
}
