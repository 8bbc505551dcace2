// Opens the socket of a connection to a data port: plain or with TLS to a server, or to another node of the cluster.
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { nodeDataProtocol, nodeIdIn } from '#base/node-uri.ts';
import type { NodeIdentification, ServerTls, WireAddress } from './wire-address.ts';

export interface SocketUse {
  /** Called with received bytes, which are valid during the call. */
  receive: (buffer: Buffer, bytes: number) => void;
  /** Called when the other side cannot be used. */
  fail: (problem: string) => void;
}

const receiveBytes = 64 << 10;

export function openSocket(address: WireAddress, use: SocketUse): Socket {
  if (address.node !== undefined) return openToNode(address, address.node, use);
  return address.tls === undefined ? openPlain(address, use) : openToServer(address, address.tls, use);
}

function openToServer(
  { host, port, localAddress }: WireAddress,
  { authority, clientCertificate }: ServerTls,
  { receive }: SocketUse,
): Socket {
  const socket = connectTls({
    host,
    port,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(isIP(host) === 0 && { servername: host }),
    ...(authority !== undefined && { ca: authority }),
    ...(clientCertificate && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    ...(localAddress !== undefined && { localAddress }),
  });
  socket.setNoDelay(true);
  socket.on('data', (chunk: Buffer) => receive(chunk, chunk.length));
  return socket;
}

function openPlain({ host, port, localAddress }: WireAddress, { receive }: SocketUse): Socket {
  const buffer = Buffer.allocUnsafeSlow(receiveBytes);
  return connect({
    host,
    port,
    noDelay: true,
    ...(localAddress !== undefined && { localAddress }),
    onread: {
      buffer,
      callback: (bytes) => {
        receive(buffer, bytes);
        return true;
      },
    },
  });
}

/** The certificate must name the id of the node: its address may change. */
function openToNode(
  { host, port }: WireAddress,
  { id, tls }: NodeIdentification,
  { receive, fail }: SocketUse,
): Socket {
  const { authority, certificate, key } = tls;
  const socket = connectTls({
    host,
    port,
    ca: authority,
    cert: certificate,
    key,
    minVersion: 'TLSv1.3',
    rejectUnauthorized: true,
    ALPNProtocols: [nodeDataProtocol],
    checkServerIdentity: (_, { subjectaltname }) =>
      nodeIdIn(subjectaltname) === id ? undefined : new Error(`the certificate does not name node ${id}`),
  });
  socket.setNoDelay(true);
  socket.once('secureConnect', () => {
    // A node of an earlier version treats every connection as one that sends copies of vbuckets.
    if (socket.alpnProtocol !== nodeDataProtocol)
      fail(`node ${id} does not serve statements of other nodes: upgrade it`);
  });
  socket.on('data', (chunk: Buffer) => receive(chunk, chunk.length));
  return socket;
}
