// Names and ports under which clients of other networks reach a node, such as through a container's mapped ports.

import { portProblem } from '../forms/port-problem.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';

const hostLengthMax = 1_000;

/** All ports that a node can have; those of services that do not run are refused once the node is provisioned. */
const portNames = new Set([
  'mgmt',
  'mgmtSSL',
  'kv',
  'kvSSL',
  'capi',
  'capiSSL',
  'projector',
  'n1ql',
  'n1qlSSL',
  'indexAdmin',
  'indexScan',
  'indexHttp',
  'indexHttps',
  'indexStreamInit',
  'indexStreamCatchup',
  'indexStreamMaint',
  'fts',
  'ftsSSL',
  'ftsGRPC',
  'ftsGRPCSSL',
  'eventingAdminPort',
  'eventingDebug',
  'eventingSSL',
  'cbas',
  'cbasSSL',
  'backupAPI',
  'backupAPIHTTPS',
  'backupGRPC',
]);

export function alternateHostProblem(hostname: string): string | null {
  const isValid = hostname.length <= hostLengthMax && (isDomainName(hostname) || isIpv6(hostname));
  if (isValid) return null;
  return `Invalid hostname specified. Hostname should be ${hostLengthMax} characters or less and either a valid IPv4, IPv6, or FQDN`;
}

const isIpv6 = (text: string): boolean => text.includes(':') && URL.canParse(`http://[${text}]`);

/** Dotted numbers of IPv4 have the same form. */
const isDomainName = (text: string): boolean =>
  /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$/.test(
    text,
  );

export function alternatePorts(
  sent: Readonly<Record<string, string>>,
  runs: (port: string) => boolean,
): Record<string, number> {
  const ports: Record<string, number> = {};
  for (const [name, text] of Object.entries(sent)) {
    const problem = portNames.has(name) ? portProblem(text) : 'No such port.';
    if (problem !== null) throw nodeRefusals.invalidAlternatePort({ name, problem });
    ports[name] = Number(text);
  }
  const idle = Object.keys(ports).filter((name) => !runs(name));
  if (idle.length > 0) throw nodeRefusals.idleAlternatePorts({ ports: JSON.stringify(idle) });
  return ports;
}
