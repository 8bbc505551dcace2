// Sends the alerts of this node to the lists of the other nodes, so that an administrator sees them on every node, and acknowledges them
// on any. Only the node that raised an alert mails it and stores its event.
import type { NodeState } from '../config/cluster-state.ts';
import type { Peers } from '../peers/peers.ts';
import type { AlertList } from './alert-list.ts';
import type { MeasuredKind } from './alert-settings.ts';

export interface NotedAlert {
  /** Names the cause on its node. */
  readonly key: string;
  readonly kind: MeasuredKind;
  readonly text: string;
}

export interface SharedAlertsDeps {
  readonly view: { readonly activeNodes: readonly NodeState[] };
  readonly nodeId: string;
  readonly peers: Pick<Peers, 'ask' | 'answer'>;
  readonly list: Pick<AlertList, 'note' | 'remove' | 'silence' | 'token'>;
}

const answerTimeoutMs = 5_000;

export class SharedAlerts {
  readonly #deps: SharedAlertsDeps;

  constructor(deps: SharedAlertsDeps) {
    this.#deps = deps;
    const { peers, list } = deps;
    peers.answer('alert', ({ key, kind, text }: NotedAlert, from) => {
      list.note(`${from} ${key}`, kind, text);
    });
    peers.answer('alertsSilenced', (keys: readonly string[]) => list.remove(keys));
  }

  /** Call at each check that finds the cause: the lists of the other nodes drop an alert that is not sent again. */
  send(alert: NotedAlert): void {
    // The next check sends the alert again to a node that does not answer.
    for (const uuid of this.#others) this.#tell(uuid, 'alert', alert);
  }

  /** Removes the alerts that a client has seen from the lists of all nodes. `token`: of this node's list; absent: all alerts of that list. */
  silence(token?: string): void {
    const { list } = this.#deps;
    const keys = list.silence(token ?? list.token);
    if (keys.length === 0) return;
    for (const uuid of this.#others)
      this.#tell(
        uuid,
        'alertsSilenced',
        keys.map((key) => this.#keyAt(uuid, key)),
      );
  }

  get #others(): string[] {
    const { view, nodeId } = this.#deps;
    return view.activeNodes.map(({ uuid }) => uuid).filter((uuid) => uuid !== nodeId);
  }

  #tell(uuid: string, name: string, body: unknown): void {
    this.#deps.peers.ask(uuid, name, body, answerTimeoutMs).catch(() => {});
  }

  /** The key of an alert in the list of another node: there its own alerts have no node in front, and those of this node have one. */
  #keyAt(uuid: string, key: string): string {
    const [node, ...cause] = key.split(' ') as [string, ...string[]];
    if (node === uuid) return cause.join(' ');
    return this.#others.includes(node) ? key : `${this.#deps.nodeId} ${key}`;
  }
}
