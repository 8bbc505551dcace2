// The addresses of a node's ports, as the ready file names them.
import { urlHost } from '#base/host-and-port.ts';
import type { Node } from './node.ts';
import type { NodeAddresses, ReadyFile } from './ready.ts';

interface Credentials {
  readonly username: string;
  readonly password: string;
}

export function readyFileOf(
  node: Node,
  credentials: Credentials | null,
): ReadyFile & { node: NodeAddresses } {
  const host = urlHost(node.localHost);
  const { ports } = node;
  return {
    node: {
      rest: `http://${host}:${ports.mgmt}`,
      restTls: `https://${host}:${ports.mgmtSSL}`,
      kv: `${host}:${ports.kv}`,
      kvTls: `${host}:${ports.kvSSL}`,
      capi: `http://${host}:${ports.capi}`,
      capiTls: `https://${host}:${ports.capiSSL}`,
      ...(ports.n1ql !== undefined && {
        query: `http://${host}:${ports.n1ql}`,
        queryTls: `https://${host}:${ports.n1qlSSL}`,
      }),
      ...(ports.indexHttp !== undefined && {
        index: `http://${host}:${ports.indexHttp}`,
        indexTls: `https://${host}:${ports.indexHttps}`,
      }),
      ...(ports.backupAPI !== undefined && {
        backup: `http://${host}:${ports.backupAPI}`,
        backupTls: `https://${host}:${ports.backupAPIHTTPS}`,
      }),
    },
    ...credentials,
  };
}
