// Passes the bytes of connections on to a port of this machine, until a test has it cut all of them, or hang like a stopped process.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Relay implements AsyncDisposable {
  /** Connections that were cut. */
  cuts = 0;
  private hangs = false;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** By socket, the one to which its bytes go. */
  private readonly targets = new Map<Socket, Socket>();

  private constructor(target: number) {
    this.server = createServer((socket) => {
      if (this.hangs) {
        this.sockets.add(socket);
        return;
      }
      const onward = connect({ host: '127.0.0.1', port: target, noDelay: true });
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        this.sockets.add(one);
        this.targets.set(one, other);
        one.pipe(other);
        one.on('error', () => one.destroy());
        one.on('close', () => {
          this.sockets.delete(one);
          this.targets.delete(one);
          other.destroy();
        });
      }
    });
  }

  static async open(target: number): Promise<Relay> {
    const relay = new Relay(target);
    relay.server.listen(0, '127.0.0.1');
    await once(relay.server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get connections(): number {
    return this.sockets.size / 2;
  }

  /** Passes nothing on any more; connections remain, and new ones are accepted. */
  hang(): void {
    this.hangs = true;
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  /** Passes on what was sent meanwhile, over connections from before it hung. */
  resume(): void {
    this.hangs = false;
    for (const [one, other] of this.targets) one.pipe(other);
  }

  cut(): void {
    this.cuts += this.sockets.size / 2;
    for (const socket of this.sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }
}
