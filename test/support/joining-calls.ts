// What tests of joining send to a manager, and what the node that it calls answers.
import type { RemoteAnswer } from '../../src/cluster/joining/remote-node.ts';

/** A call that adds a node, or asks one to join. */
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
