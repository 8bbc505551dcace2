// The form that tests of joining send to a manager, and the answers of the node that the manager then calls.
import type { RemoteAnswer } from '../../src/cluster/joining/remote-node.ts';

/** The form of a request that adds a node to a cluster, or makes a node join one. */
export const memberForm = {
  hostname: 'https://10.0.0.2:18091',
  user: 'Administrator',
  password: 'password',
};

export const answer = (status: number, body: string): RemoteAnswer => ({
  status,
  body,
  localAddress: '10.0.0.1',
  scheme: 'https',
});
