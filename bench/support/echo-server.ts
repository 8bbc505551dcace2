// Echoes what it receives, on the port of the first argument; over TLS if the second one is a certificate.
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

const [, , port, certificate] = process.argv;
const serve = (socket: Socket): void => {
  socket.on('error', () => {}); // the client has left
  socket.pipe(socket);
};
const tls =
  certificate === undefined ? null : (JSON.parse(certificate) as { certificate: string; key: string });
const server = tls
  ? createTlsServer({ noDelay: true, cert: tls.certificate, key: tls.key }, serve)
  : createServer({ noDelay: true }, serve);
server.listen(Number(port), '127.0.0.1');
