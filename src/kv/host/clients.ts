// All connections of the data service: resumes those with resolved replies, closes idle ones, and closes all at the end.
import type { Socket } from 'node:net';
import { deferred } from '#base/deferred.ts';
import { isLoopback } from '#base/loopback.ts';
import type { ShownCertificate } from '#ports/client-certificate.ts';
import type { ClientGate } from '#ports/client-gate.ts';
import type { Clock, Timer } from '#ports/clock.ts';
import type { Log } from '#ports/log.ts';
import { atMost } from '#ports/within.ts';
import type { TrafficFigures } from '../activity.ts';
import type { KvLimits } from '../admin.ts';
import { Connection, type ConnectionHost } from '../connection/connection.ts';
import { SocketTransport } from '../listener/socket-transport.host.ts';
import type { Directory, UserEntry } from '../served/directory.ts';
import type { ServedBucket } from '../served/served-bucket.ts';
import { configPush } from './config-push.ts';
import { nodeAccount } from './node-clients.ts';

export interface ClientsOptions {
  clock: Clock;
  log: Log;
  directory: Directory;
  gate: ClientGate;
  traffic: TrafficFigures;
  /** Updates the thread's current time. */
  tick: () => void;
  /** Called when two connections are open at once: then there are clients other than the node's own start check. */
  onSecondClient?: (() => void) | undefined;
}

export const defaultLimits: KvLimits = { connectionsMax: 65_000, idleSeconds: 0, logsConnections: false };
/** Interval of sweeps; shorter if an idle time is set. */
const sweepMs = { usual: 5_000, forIdle: 1_000 };
const drainTimeoutMs = 2_000;

export class Clients {
  readonly all = new Set<Connection>();
  limits = defaultLimits;
  private readonly options: ClientsOptions;
  /** Connections that `wake` will resume in a later turn. */
  private readonly awake = new Set<Connection>();
  /** Unencrypted connections from other machines. */
  private readonly remotePlain = new Set<Connection>();
  private sweepTimer: Timer | null = null;
  private isEnding = false;
  private allGone: () => void = () => {};

  constructor(options: ClientsOptions) {
    this.options = options;
  }

  connect(host: ConnectionHost, socket: Socket, certificate: ShownCertificate | null): Connection {
    const connection = this.add(host, socket);
    this.options.gate.follow(socket);
    if (!('encrypted' in socket) && !isLoopback(socket.remoteAddress ?? '')) this.remotePlain.add(connection);
    if (certificate) this.authenticateByCertificate(connection, certificate);
    return connection;
  }

  /** A connection of another node, whose certificate has proved that. The allowlist is for clients and does not apply to nodes. */
  connectNode(host: ConnectionHost, socket: Socket): Connection {
    const { directory } = this.options;
    const connection = this.add(host, socket);
    const user = directory.user(nodeAccount.name);
    if (user === undefined) connection.destroy();
    else connection.authenticateByCertificate(user, directory);
    return connection;
  }

  private add(host: ConnectionHost, socket: Socket): Connection {
    const { onSecondClient, traffic } = this.options;
    const transport = new SocketTransport(socket, host.turns);
    const connection = new Connection(host, transport, peerOf(socket));
    transport.follow(() => connection.drained());
    this.all.add(connection);
    if (this.all.size === 2) onSecondClient?.();
    traffic.connections++;
    this.log('connection.opened', connection.peer);
    return connection;
  }

  refused(socket: Socket): void {
    this.options.traffic.rejected++;
    this.log('connection.refused', peerOf(socket));
  }

  discard(connection: Connection): void {
    this.all.delete(connection);
    this.remotePlain.delete(connection);
    this.log('connection.closed', connection.peer);
    if (this.all.size === 0) this.allGone();
  }

  wake(connection: Connection): void {
    if (this.awake.has(connection)) return;
    this.awake.add(connection);
    this.options.clock.soon(() => {
      this.awake.delete(connection);
      this.options.tick();
      connection.resume();
    });
  }

  follow(limits: KvLimits): void {
    const hasNewIdleTime = limits.idleSeconds !== this.limits.idleSeconds;
    this.limits = limits;
    if (hasNewIdleTime) this.scheduleTimeoutSweep();
  }

  /** Schedules the next sweep, which closes connections that exceeded a time limit. */
  scheduleTimeoutSweep(): void {
    if (this.isEnding) return;
    const delayMs = this.limits.idleSeconds > 0 ? sweepMs.forIdle : sweepMs.usual;
    this.sweepTimer?.cancel();
    this.sweepTimer = this.options.clock.after(delayMs, () => this.sweep());
  }

  endTimeoutSweeps(): void {
    this.isEnding = true;
    this.sweepTimer?.cancel();
  }

  closeRemotePlain(): void {
    for (const connection of this.remotePlain) connection.close();
  }

  /** Closes the connections that selected the bucket. */
  closeOn(bucket: ServedBucket): void {
    for (const connection of this.all) if (connection.session.bucket === bucket) connection.close();
  }

  /** Tells clients that the configuration of the bucket changed; null: that of the cluster, which clients without a bucket follow. */
  pushConfig(bucket: ServedBucket | null): void {
    const { clusterConfig } = this.options.directory;
    const config = bucket === null ? clusterConfig : { ...bucket.spec.clusterConfig, json: bucket.config };
    if (config === null) return;
    for (const connection of this.all) {
      const bytes = configPush(connection.session, { bucket, ...config });
      if (bytes) connection.push(bytes);
    }
  }

  /** Closes all connections. Call it after the buckets are stopped: clients get `drainTimeoutMs` to accept their last replies. */
  async end(): Promise<void> {
    for (const connection of this.all) connection.close();
    await this.waitUntilGone();
    for (const connection of this.all) connection.destroy();
  }

  private async waitUntilGone(): Promise<void> {
    if (this.all.size === 0) return;
    const drained = deferred<void>();
    this.allGone = drained.resolve;
    await atMost(this.options.clock, drainTimeoutMs, drained.promise);
  }

  /** A client whose certificate names no user may still log in, unless certificates are mandatory. */
  private authenticateByCertificate(connection: Connection, { user, isDemanded }: ShownCertificate): void {
    const { directory, log } = this.options;
    // Accounts of the node's own services have names that no certificate of a user may claim.
    const account = user === null || user.startsWith('@') ? undefined : directory.user(user);
    if (account && !this.mayConnect(account)) connection.destroy();
    else if (account) connection.authenticateByCertificate(account, directory);
    else if (isDemanded) {
      log.warn('login.refused', { user: user ?? '', peer: connection.peer });
      connection.destroy();
    }
  }

  private mayConnect({ spec }: UserEntry): boolean {
    if (spec.limits === undefined) return true;
    const ofUser = [...this.all].filter(({ session }) => session.user?.spec.name === spec.name);
    return ofUser.length < spec.limits.connections;
  }

  private log(event: string, peer: string): void {
    if (this.limits.logsConnections) this.options.log.info(event, { peer, connections: this.all.size });
  }

  private sweep(): void {
    this.options.tick();
    const nowMs = this.options.clock.monotonicMs();
    const idleMs = this.limits.idleSeconds * 1000;
    for (const connection of this.all) connection.sweep(nowMs, idleMs);
    this.scheduleTimeoutSweep();
  }
}

const peerOf = (socket: Socket): string => `${socket.remoteAddress}:${socket.remotePort}`;
