// Sends the alerts of this node to the lists of the other nodes, so that an administrator sees them on every node. Only the node that
// raised an alert mails it and stores its event.
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
  readonly list: Pick<AlertList, 'note'>;
}

const answerMs = 5_000;

export class SharedAlerts {
  readonly #deps: SharedAlertsDeps;

  constructor(deps: SharedAlertsDeps) {
    this.#deps = deps;
    const { peers, list } = deps;
    peers.answer('alert', ({ key, kind, text }: NotedAlert, from) => {
      list.note(`${from} ${key}`, kind, text);
    });
  }

  /** Call at each check that finds the cause: the lists of the other nodes drop an alert that is not sent again. */
  send(alert: NotedAlert): void {
    const { view, nodeId, peers } = this.#deps;
    for (const { uuid } of view.activeNodes) {
      // The next check sends the alert again to a node that does not answer.
      if (uuid !== nodeId) peers.ask(uuid, 'alert', alert, answerMs).catch(() => {});
    }
  }
}
