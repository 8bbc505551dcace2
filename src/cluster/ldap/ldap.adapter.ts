// LDAP through ldapts, which is loaded with the first login. Each query uses its own connection, which carries no other user's rights.
import { isIP } from 'node:net';
import { connect, getCACertificates } from 'node:tls';
import type { Client } from 'ldapts';
import { urlHost } from '#base/host-and-port.ts';
import type { Clock } from '#ports/clock.ts';
import { within } from '#ports/within.ts';
import type { DirectoryServer, GroupsOutcome, LoginOutcome } from './directory-server.ts';
import { groupsOf } from './ldap-groups.ts';
import type { LdapSettings } from './ldap-settings.ts';
import { bindForQueries, LdapRefusalError } from './query-login.ts';
import { dnOf } from './user-dn.ts';

export interface LdapOptions {
  /** Certificates of authorities that this cluster trusts in addition to those of the machine. */
  trusted: () => Promise<readonly string[]>;
  clock: Pick<Clock, 'after'>;
}

/** The time limit of a call to a host, such as a search for nested groups, as a multiple of the limit of one request. */
export const callRequestsMax = 10;

export class LdapServer implements DirectoryServer {
  readonly #options: LdapOptions;

  constructor(options: LdapOptions) {
    this.#options = options;
  }

  async login(settings: LdapSettings, name: string, password: string): Promise<LoginOutcome> {
    try {
      const dn = await this.#onSomeHost(settings, (client) => logIn(client, settings, name, password));
      return { kind: 'accepted', dn };
    } catch (error) {
      const reason = (error as Error).message;
      return error instanceof LdapRefusalError ? { kind: 'refused', reason } : { kind: 'failed', reason };
    }
  }

  async groups(settings: LdapSettings, name: string): Promise<GroupsOutcome> {
    try {
      const groups = await this.#onSomeHost(settings, (client) => groupsOf(client, settings, name));
      return { kind: 'found', groups };
    } catch (error) {
      return { kind: 'failed', reason: (error as Error).message };
    }
  }

  async reach(settings: LdapSettings): Promise<string | null> {
    try {
      await this.#onSomeHost(settings, (client) => bindForQueries(client, settings));
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async #onSomeHost<T>(settings: LdapSettings, act: (client: Client) => Promise<T>): Promise<T> {
    let failure = new Error('no LDAP host is set');
    for (const host of settings.hosts) {
      try {
        return await this.#on(host, settings, act);
      } catch (error) {
        if (error instanceof LdapRefusalError) throw error;
        failure = new Error(`${host}:${settings.port}: ${(error as Error).message || 'no connection'}`);
      }
    }
    throw failure;
  }

  async #on<T>(host: string, settings: LdapSettings, act: (client: Client) => Promise<T>): Promise<T> {
    const { Client: LdapClient } = await import('ldapts');
    const { encryption, port, requestTimeout } = settings;
    const scheme = encryption === 'TLS' ? 'ldaps' : 'ldap';
    const tls = await this.#tls(settings);
    const client = new LdapClient({
      url: `${scheme}://${urlHost(host)}:${port}`,
      timeout: requestTimeout,
      connectTimeout: requestTimeout,
      ...(encryption === 'TLS' && { tlsOptions: tls }),
      createSecureConnection: connectWithin(this.#options.clock, requestTimeout),
    });
    const call = async (): Promise<T> => {
      const servername = isIP(host) === 0 && { servername: host };
      if (encryption === 'StartTLSExtension') await client.startTLS({ ...tls, host, ...servername });
      return await act(client);
    };
    const unbind = (): Promise<void> => client.unbind().catch(() => {});
    const called = call();
    // A call that continues after the limit may open another connection, which this closes.
    void called.then(unbind, unbind);
    const limitMs = callRequestsMax * requestTimeout;
    try {
      return await within(
        this.#options.clock,
        limitMs,
        called,
        () => new Error(`no result within ${limitMs} ms`),
      );
    } finally {
      await unbind();
    }
  }

  async #tls({ serverCertValidation, cacert, clientTLSCert, clientTLSKey }: LdapSettings) {
    const client = clientTLSCert === '' ? {} : { cert: clientTLSCert, key: clientTLSKey };
    if (!serverCertValidation) return { ...client, rejectUnauthorized: false };
    const configured = cacert === '' ? [] : [cacert];
    const trusted = await this.#options.trusted();
    return {
      ...client,
      ca: [...getCACertificates('default'), ...getCACertificates('system'), ...trusted, ...configured],
    };
  }
}

/** ldapts itself limits connections and messages, but not a TLS handshake that StartTLS begins. */
const connectWithin = (clock: LdapOptions['clock'], limitMs: number): typeof connect =>
  function connectTls(...args: Parameters<typeof connect>) {
    const socket = connect(...args);
    const limit = clock.after(limitMs, () =>
      socket.destroy(new Error(`no TLS handshake within ${limitMs} ms`)),
    );
    for (const event of ['secureConnect', 'close']) socket.once(event, () => limit.cancel());
    return socket;
  } as typeof connect;

async function logIn(
  client: Client,
  settings: LdapSettings,
  name: string,
  password: string,
): Promise<string> {
  const dn = await dnOf(client, settings, name);
  await bind(client, dn, password);
  return dn;
}

async function bind(client: Client, dn: string, password: string): Promise<void> {
  const { InvalidCredentialsError, NoSuchObjectError } = await import('ldapts');
  try {
    await client.bind(dn, password);
  } catch (error) {
    const isWrong = error instanceof InvalidCredentialsError || error instanceof NoSuchObjectError;
    throw isWrong ? new LdapRefusalError('the name or the password is wrong') : error;
  }
}
