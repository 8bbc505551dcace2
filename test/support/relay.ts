// A TCP proxy of a port of this machine. A test can make it close all connections, hang like a stopped process, or lose all bytes like a
// network that drops every packet.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class Relay implements AsyncDisposable {
  /** Connections that `cut` closed. */
  cuts = 0;
  private state: 'relays' | 'hangs' | 'drops' = 'relays';
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly clients = new Set<Socket>();
  /** By socket, the one to which its bytes go. */
  private readonly targets = new Map<Socket, Socket>();
  /** Clients whose bytes have been lost since `drop`, until they close the connection. */
  private readonly lost = new Set<Socket>();

  private constructor(target: number) {
    this.server = createServer((client) => this.accept(client, target));
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

  /** Connections of clients that are connected to the target. */
  get connections(): number {
    return this.targets.size / 2;
  }

  /** Connections from before the last `drop` that their clients have not closed. */
  get lostConnections(): number {
    return this.lost.size;
  }

  /** Passes nothing on any more, until `resume`; connections remain, and new ones are accepted. */
  hang(): void {
    this.state = 'hangs';
    for (const socket of this.targets.keys()) socket.unpipe().pause();
  }

  /** Loses all bytes until `resume`, and tells neither side: present connections, and those that are opened until then, never work again. */
  drop(): void {
    this.state = 'drops';
    for (const client of this.clients) this.lost.add(client);
    for (const socket of this.sockets) this.lose(socket);
  }

  /** Relays new connections again, and passes on what was sent while the relay hung. */
  resume(): void {
    this.state = 'relays';
    for (const [one, other] of this.targets) one.pipe(other);
  }

  /** Closes all connections. */
  cut(): void {
    this.cuts += this.connections;
    for (const socket of this.sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }

  private accept(client: Socket, target: number): void {
    this.clients.add(client);
    this.track(client);
    if (this.state === 'drops') this.lose(client);
    if (this.state !== 'relays') return;
    const onward = connect({ host: '127.0.0.1', port: target, noDelay: true });
    this.track(onward);
    for (const [one, other] of [
      [client, onward],
      [onward, client],
    ] as const) {
      this.targets.set(one, other);
      one.pipe(other);
    }
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.targets.get(socket)?.destroy();
      for (const list of [this.sockets, this.clients, this.lost, this.targets]) list.delete(socket);
    });
  }

  private lose(socket: Socket): void {
    this.targets.delete(socket);
    socket.unpipe().resume();
  }
}
