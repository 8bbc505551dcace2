// The text that names NATS servers: nats://[user:password@]host[:port][,host[:port]...], tls:// where they must encrypt.
import { urlHost } from '#base/host-and-port.ts';

export interface NatsServers {
  readonly addresses: readonly NatsAddress[];
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** True: connections must be encrypted. */
  readonly tls: boolean;
}

export interface NatsAddress {
  readonly host: string;
  readonly port: number;
}

const portDefault = 4222;
const serversMax = 16;

export const isNatsText = (text: string): boolean => /^(nats|tls):\/\//.test(text);

/** @throws Error with the right form, without the password. */
export function parseServers(text: string): NatsServers {
  const [, scheme, login, hosts] = /^(nats|tls):\/\/(?:([^@]*)@)?([^@/]*)\/?$/.exec(text) ?? [];
  const names = (hosts ?? '').split(',');
  const addresses = names.map(parseAddress);
  const user = loginOf(login);
  if (scheme === undefined || user === null || addresses.length > serversMax || addresses.includes(null))
    throw new Error(
      'NATS servers must be given as nats://host:4222,host:4222,... or tls://..., with user:password@ before the first host if needed (%25 for a percent sign, %40 for @)',
    );
  return { addresses: addresses as NatsAddress[], tls: scheme === 'tls', ...user };
}

/** Null for a text that is not percent-encoded. */
function loginOf(login: string | undefined): Pick<NatsServers, 'user' | 'password' | 'token'> | null {
  if (login === undefined || login === '') return {};
  try {
    const [user = '', password] = login.split(/:(.*)/s).map((part) => decodeURIComponent(part));
    return password === undefined ? { token: user } : { user, password };
  } catch {
    return null;
  }
}

/** Null for a text that is no address. */
export function parseAddress(text: string): NatsAddress | null {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text);
  if (match === null) return null;
  const port = match[3] === undefined ? portDefault : Number(match[3]);
  if (port < 1 || port > 65_535) return null;
  return { host: (match[1] ?? match[2]) as string, port };
}

export const showAddress = ({ host, port }: NatsAddress): string => `${urlHost(host)}:${port}`;
