// Which servers the cluster's own NATS has, with an authority, certificates and a password that nothing else uses.
import { isAddress } from '#base/address.ts';
import type { Random } from '#ports/random.ts';
import { addressText, serverUser } from '#replog/own-servers/server-settings.ts';
import type { AlternativeName, Issue, KeyedCertificate } from '../certificates/issue.ts';
import type { NatsSource, ServerPlace, ServerTask } from '../joining/join-messages.ts';

/** With fewer the loss of one would stop the others. */
export const serversWanted = 3;
const bucket = 'divan';

export interface ServerPlan {
  /** By node id. */
  readonly tasks: ReadonlyMap<string, ServerTask>;
  /** For all nodes. */
  readonly source: NatsSource;
}

export async function planServers(
  places: readonly ServerPlace[],
  { issue, random }: { issue: Issue; random: Random },
): Promise<ServerPlan> {
  const password = random.bytes(24).toString('base64url');
  const cluster = `divan-${random.bytes(8).toString('hex')}`;
  const routes = places.map(({ host, routePort: port }) => ({ host, port }));
  const suffix = `servers ${random.bytes(4).toString('hex')}`;
  const serial = (): string => `4${random.bytes(16).toString('hex').slice(1)}`;
  let authority: KeyedCertificate | null = null;
  const tasks = new Map<string, ServerTask>();
  for (const { nodeId, host, port, routePort } of places) {
    const issued = await issue({
      authority,
      suffix,
      serials: [serial(), serial(), serial()],
      names: namesOf(host),
      withRsa: false,
    });
    authority = issued.authority;
    const { certificate: cert, key } = issued.node;
    const tls = { ca: authority.certificate, cert, key };
    tasks.set(nodeId, { cluster, port, routePort, advertised: host, routes, password, tls });
  }
  const addresses = places.map(({ host, port }) => addressText({ host, port }));
  const servers = `tls://${serverUser}:${password}@${addresses.join(',')}`;
  return { tasks, source: { servers, bucket, files: { ca: { text: authority?.certificate ?? '' } } } };
}

/** The NATS client checks the name "localhost" where it connects to an address. The authority signs nothing but these certificates. */
const namesOf = (host: string): AlternativeName[] =>
  !isAddress(host)
    ? [{ kind: 'dns', name: host }]
    : [
        { kind: 'ip', name: host },
        { kind: 'dns', name: 'localhost' },
      ];
