// The rules of server groups. The vbucket maps of buckets follow the groups at the next rebalance.
import type { Form } from '#contract/route.ts';
import type { Random } from '#ports/random.ts';
import type { ClusterStore } from '../config/cluster.store.ts';
import type { ClusterState, NodeGroup } from '../config/cluster-state.ts';
import { serverGroupRefusals } from '../refusals/server-groups.refusals.ts';
import { groupOfNode, groupsOf, groupsRevision, nodesInGroup } from './groups.ts';
import { groupUri } from './server-groups.contract.ts';

const nameLengthMax = 64;
const groupsMax = 200;

export class ServerGroupsService {
  readonly #cluster: Pick<ClusterStore, 'change'>;
  readonly #random: Random;

  constructor(deps: { cluster: Pick<ClusterStore, 'change'>; random: Random }) {
    this.#cluster = deps.cluster;
    this.#random = deps.random;
  }

  create(form: Form): Promise<void> {
    const name = nameIn(form);
    const uuid = this.#random.uuid().replaceAll('-', '');
    return this.#cluster.change((state) => {
      const groups = groupsOf(state);
      refuseTaken(groups, name);
      if (groups.length >= groupsMax) throw serverGroupRefusals.tooMany({ limit: groupsMax });
      return { ...state, groups: [...groups, { uuid, name }] };
    });
  }

  rename(uuid: string, form: Form): Promise<void> {
    return this.#cluster.change((state) => {
      const groups = groupsWith(state, uuid);
      const name = nameIn(form);
      refuseTaken(
        groups.filter((group) => group.uuid !== uuid),
        name,
      );
      return { ...state, groups: groups.map((group) => (group.uuid === uuid ? { uuid, name } : group)) };
    });
  }

  delete(uuid: string): Promise<void> {
    return this.#cluster.change((state) => {
      const groups = groupsWith(state, uuid);
      if (nodesInGroup(state, uuid).length > 0) throw serverGroupRefusals.notEmpty();
      if (groups.length === 1) throw serverGroupRefusals.last();
      return { ...withOwnGroups(state), groups: groups.filter((group) => group.uuid !== uuid) };
    });
  }

  /** `revision`: as in the address that the client read. */
  move(revision: string | undefined, body: unknown): Promise<void> {
    const wanted = assignmentsIn(body);
    return this.#cluster.change((state) => {
      if (revision !== undefined && revision !== String(groupsRevision(state)))
        throw serverGroupRefusals.changed();
      refuseIncomplete(state, wanted);
      const nodes = state.nodes.map((node) => ({ ...node, group: wanted.get(node.otpNode) as string }));
      const isMove = state.nodes.some((node) => groupOfNode(state, node).uuid !== wanted.get(node.otpNode));
      const moved = { ...state, groups: groupsOf(state), nodes };
      return isMove && state.nodes.length > 1 ? withNeededRebalance(moved) : moved;
    });
  }
}

/** The copies of a document follow at the next rebalance: the running one may have planned its maps already. */
const withNeededRebalance = ({ balance, ...state }: ClusterState): ClusterState => ({
  ...state,
  needsRebalance: true,
  ...(balance && { balance: { ...balance, isOutdated: true } }),
});

function nameIn({ name }: Form): string {
  const trimmed = name?.trim() ?? '';
  if (name === undefined) throw serverGroupRefusals.invalidName({ problem: 'is missing' });
  if (trimmed === '') throw serverGroupRefusals.invalidName({ problem: 'cannot be empty' });
  if (Buffer.byteLength(trimmed) > nameLengthMax)
    throw serverGroupRefusals.invalidName({ problem: `cannot be longer than ${nameLengthMax} bytes` });
  return trimmed;
}

function refuseTaken(groups: readonly NodeGroup[], name: string): void {
  if (groups.some((group) => group.name === name)) throw serverGroupRefusals.exists();
}

/** All groups. @throws AppError when none has this uuid */
function groupsWith(state: ClusterState, uuid: string): readonly NodeGroup[] {
  const groups = groupsOf(state);
  if (!groups.some((group) => group.uuid === uuid)) throw serverGroupRefusals.unknown({ uuid });
  return groups;
}

/** Stores the group of each node: a node without a stored one is in the first group, which may be another group after a deletion. */
function withOwnGroups(state: ClusterState): ClusterState {
  const byNode = new Map(
    groupsOf(state).flatMap(({ uuid }) =>
      nodesInGroup(state, uuid).map((node) => [node.uuid, uuid] as const),
    ),
  );
  return {
    ...state,
    nodes: state.nodes.map((node) => ({ ...node, group: byNode.get(node.uuid) as string })),
  };
}

/** The uuid of the group of each node, by the node's `otpNode`. */
function assignmentsIn(body: unknown): Map<string, string> {
  const groups = (body as { groups?: unknown } | null)?.groups;
  if (!Array.isArray(groups))
    throw serverGroupRefusals.malformed({ problem: 'groups must be an array of groups' });
  const pairs = groups.flatMap((group: unknown) => {
    const { uri, nodes } = (group ?? {}) as { uri?: unknown; nodes?: unknown };
    if (typeof uri !== 'string' || !uri.startsWith(groupUri('')))
      throw serverGroupRefusals.malformed({ problem: 'each group needs its uri' });
    if (!Array.isArray(nodes))
      throw serverGroupRefusals.malformed({ problem: `nodes of ${uri} must be an array` });
    return nodes.map((node: unknown) => [nameOf(node, uri), uri.slice(groupUri('').length)] as const);
  });
  const names = new Set(pairs.map(([name]) => name));
  if (names.size < pairs.length) throw serverGroupRefusals.malformed({ problem: 'a node is in two groups' });
  return new Map(pairs);
}

function nameOf(node: unknown, uri: string): string {
  const { otpNode } = (node ?? {}) as { otpNode?: unknown };
  if (typeof otpNode === 'string') return otpNode;
  throw serverGroupRefusals.malformed({ problem: `each node of ${uri} needs its otpNode` });
}

function refuseIncomplete(state: ClusterState, wanted: ReadonlyMap<string, string>): void {
  const missing = state.nodes.find(({ otpNode }) => !wanted.has(otpNode));
  if (missing) throw serverGroupRefusals.malformed({ problem: `the node ${missing.otpNode} is in no group` });
  for (const [name, uuid] of wanted) {
    groupsWith(state, uuid);
    if (!state.nodes.some(({ otpNode }) => otpNode === name))
      throw serverGroupRefusals.malformed({ problem: `there is no node ${name}` });
  }
}
