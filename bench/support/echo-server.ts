// Answers each byte with itself, on the port that the command line names; over TLS with the certificate that follows it.
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
