// Which servers belong to a cluster of NATS servers that nodes run: more than half of them must store each change, and a server that is lost
// counts until it is removed. Only a user of the system account may see and change that.
import type { NatsConnection } from '@nats-io/transport-node';
import { openConnection } from '../nats/nats-connection.adapter.ts';
import type { NatsFiles } from '../nats/nats-files.adapter.ts';
import type { NatsServers } from '../nats/nats-servers.ts';

export interface GroupMember {
  /** The name by which the other servers know this one. */
  readonly id: string;
  readonly name: string;
  /** Whether the server runs and has all changes of the membership. */
  readonly isCurrent: boolean;
}

interface Peer {
  readonly name: string;
  readonly peer: string;
  readonly current: boolean;
  readonly offline?: boolean;
}

interface Report {
  readonly data?: {
    readonly meta_cluster?: {
      readonly leader?: string;
      readonly peer?: string;
      readonly replicas?: readonly Peer[] | null;
    };
  };
}

const reportTimeoutMs = 5_000;
/** The leader answers once most servers have the change. */
const removalMs = 15_000;

export class NatsServerGroup {
  readonly #servers: NatsServers;
  readonly #files: NatsFiles;

  /** `servers` names the user of the system account. */
  constructor(servers: NatsServers, files: NatsFiles) {
    this.#servers = servers;
    this.#files = files;
  }

  /** @throws Error while the servers have no leader. */
  members(): Promise<GroupMember[]> {
    return this.#connected(async (connection) => {
      const answer = await connection.request('$SYS.REQ.SERVER.PING.JSZ', '{"leader_only":true}', {
        timeout: reportTimeoutMs,
      });
      const { leader, peer, replicas } = answer.json<Report>().data?.meta_cluster ?? {};
      if (leader === undefined || peer === undefined) throw new Error('the NATS servers have no leader');
      const others = (replicas ?? []).map(({ current, name, offline = false, peer: id }) => ({
        id,
        name,
        isCurrent: current && !offline,
      }));
      return [{ id: peer, name: leader, isCurrent: true }, ...others];
    });
  }

  /** Removes a server from the group. A majority is then counted among the other servers, and another server gets the copies that it had. */
  remove(id: string): Promise<void> {
    return this.#connected(async (connection) => {
      const request = JSON.stringify({ peer: '', peer_id: id });
      const answer = await connection.request('$JS.API.SERVER.REMOVE', request, { timeout: removalMs });
      const { error } = answer.json<{ error?: { description?: string } }>();
      if (error !== undefined) throw new Error(`the NATS servers refuse the removal: ${error.description}`);
    });
  }

  async #connected<Value>(act: (connection: NatsConnection) => Promise<Value>): Promise<Value> {
    const { connection } = await openConnection(this.#servers, this.#files, []);
    try {
      return await act(connection);
    } finally {
      await connection.close();
    }
  }
}
