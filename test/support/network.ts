// A proxy in front of a server. After `cut` it drops all bytes without closing connections.
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Network {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly clients = new Set<Socket>();
  private cutOff: readonly Socket[] = [];
  private isCut = false;

  private constructor(to: number) {
    this.server = createServer((near) => this.join(near, to));
  }

  static async open(port: number): Promise<Network> {
    const network = new Network(port);
    network.server.listen(0, '127.0.0.1');
    await once(network.server, 'listening');
    return network;
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  cut(): void {
    this.isCut = true;
    this.cutOff = [...this.clients];
  }

  /** Connections from before the cut that their client has not closed. */
  get remaining(): number {
    return this.cutOff.filter((client) => this.clients.has(client)).length;
  }

  /** Restores the network for new connections; bytes in transit are lost. */
  mend(): void {
    this.isCut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(near: Socket, to: number): void {
    const far = connect(to, '127.0.0.1');
    this.clients.add(near);
    near.on('close', () => this.clients.delete(near));
    // A connection that is opened while the network is cut never works.
    let isDead = this.isCut;
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.on('data', (bytes) => {
        isDead ||= this.isCut;
        if (!isDead) other.write(bytes);
      });
      from.on('error', () => {});
      from.on('close', () => {
        this.sockets.delete(from);
        if (!isDead && !this.isCut) other.destroy();
      });
    }
  }
}
