// Answers each byte with itself, on the port that the command line names.
import { createServer } from 'node:net';

createServer({ noDelay: true }, (socket) => {
  socket.on('error', () => {}); // the client has left
  socket.pipe(socket);
}).listen(Number(process.argv[2]), '127.0.0.1');
