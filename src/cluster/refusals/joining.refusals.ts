// Refusals of calls that add nodes to a cluster or remove them from it.
import { defineRefusals } from '#contract/refusal.ts';

const published = true;

export const joiningRefusals = defineRefusals('joining', {
  invalid: { as: 'list', when: 'One text for each wrong or missing parameter.' },
  unknownParameters: { as: 'list', text: 'Got unknown parameters: {names}', published },
  passwordWithoutUser: {
    as: 'list',
    text: 'If a username is not specified, a password must not be supplied.',
    published,
  },
  userWithoutPassword: { as: 'list', text: 'A password must be supplied.', published },
  notProvisioned: {
    as: 'list',
    text: 'Adding nodes to not provisioned nodes is not allowed.',
    published,
  },
  rebalancing: {
    as: 'list',
    text: 'Node addition is disallowed while rebalance is in progress',
    published,
  },
  unfinishedFailover: {
    as: 'list',
    text: 'Operation cannot be performed due to unfinished failover',
    published,
  },
  plainProhibited: {
    as: 'list',
    text: 'http is prohibited due to security reasons, please use https',
    when: 'The encryption level of the cluster is strict.',
    published,
  },
  busy: { status: 503, as: 'list', text: 'cannot acquire lock', published },
  prepareFailed: { as: 'list', text: 'Prepare join failed. {reason}', published },
  itself: { as: 'list', text: 'Joining node to itself is not allowed.', published },
  alreadyMember: { as: 'list', text: 'Node is already part of cluster.', published },
  exists: { as: 'list', text: 'Node already exists in cluster: {otpNode}', published },
  completionFailed: { as: 'list', text: 'Join completion call failed. {reason}', published },
  noMemory: {
    as: 'list',
    text: 'This server does not have sufficient memory to support requested memory quota. Total quota is {total}MB (services: {services}), maximum allowed quota for the node is {max}MB.',
    published,
  },
  noServices: {
    as: 'list',
    text: "Node doesn't support requested services: {requested}. Supported services: {supported}",
    published,
  },
  otherVersion: {
    as: 'list',
    text: 'Prepare join failed. The node has compatibility version {theirs}, and this cluster {ours}; they may differ by one minor version.',
  },
  olderNode: {
    as: 'list',
    text: 'Prepare join failed. The node has version {node}, and all nodes of this cluster have at least version {cluster}: install version {cluster} on the node first.',
  },
  tooNewNode: {
    as: 'list',
    text: 'Prepare join failed. The node has version {node}, and a node of this cluster has {cluster}; only adjacent versions can form a cluster: upgrade the nodes of the cluster first.',
  },
  clockSkew: {
    as: 'list',
    text: 'Prepare join failed. The clock of the node differs from this one by {seconds} s; at most {max} s are allowed. Set both clocks, for example by NTP.',
  },
  unreachable: {
    as: 'list',
    text: 'Prepare join failed. Port {port} of the node cannot be reached at {host}: {reason}',
  },
  onlyLoopback: {
    as: 'list',
    text: 'Prepare join failed. The node {otpNode} is known by a loopback address only; give it a name that other machines can resolve (POST /node/controller/rename) before adding nodes on other machines.',
  },
  engine: { as: 'list', text: 'Prepare join failed. {reason}' },
  joinProvisioned: {
    as: 'list',
    text: 'Node is already provisioned. To join use controller/addNode api of the cluster',
    published,
  },
  joinUnreachable: { as: 'list', text: '{reason}', when: 'The cluster cannot be reached.' },
  wrongCredentials: {
    as: 'list',
    text: 'Authentication failed. Verify username and password.',
    published,
  },
  remoteRefused: { as: 'list', when: 'The texts with which the cluster refused the node.' },
  olderCluster: {
    as: 'list',
    text: 'Node attempting to join an older cluster. Some of the selected services are not available.',
    published,
  },
  noEngagement: {
    as: 'list',
    text: 'no join of this cluster is under way here; call /engageCluster2 first',
  },
  starting: { as: 'list', text: 'The node is starting; try again.' },
  malformedCall: {
    as: 'list',
    text: 'the call does not have the form of this version: {field} is missing or wrong',
  },
  founderUnreachable: {
    as: 'list',
    text: 'The founder of the cluster cannot be reached from this node: {reason}',
  },
  natsUnreachable: {
    as: 'list',
    text: 'The configuration of the cluster cannot be used from this node: {name}: {reason}',
  },
  unknownGroup: {
    status: 404,
    as: 'list',
    text: 'Could not find group with uuid: {uuid}',
    published,
  },
  ejectWithoutName: { as: 'text', text: 'Bad Request\n', published },
  ejectActive: { as: 'text', text: 'Cannot remove active server.\n', published },
  ejectFounder: {
    as: 'text',
    text: 'The node {otpNode} stores the configuration of the cluster: remove it by a rebalance.',
  },
  ejectUnknown: { as: 'text', text: 'Server does not exist.\n', published },
});
