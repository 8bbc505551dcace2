// The name of a node in its certificate for other nodes: a URI among the alternative names.

const prefix = 'urn:divan:node:';

/** The TLS server name that nodes send to each other. By it a port that also serves clients selects the certificate for nodes. */
export const nodeServerName = 'node.divan.internal';

/** The protocol (ALPN) by which a node requests the data port's commands on the port for replication. */
export const nodeDataProtocol = 'divan-data';

export const nodeUri = (nodeId: string): string => prefix + nodeId;

/** The node id in the alternative names of a certificate, as Node's TLS shows them; null unless there is exactly one. */
export function nodeIdIn(alternativeNames: string | undefined): string | null {
  const names = (alternativeNames ?? '').split(', ');
  const uris = names.filter((name) => name.startsWith(`URI:${prefix}`));
  return uris.length === 1 ? (uris[0] as string).slice(`URI:${prefix}`.length) : null;
}
