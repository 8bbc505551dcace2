import type { ClusterView } from './cluster-view.ts';

/** Texts that are computed once for each change of the configuration. */
export class TextsUntilChange {
  readonly #view: Pick<ClusterView, 'changeCount'>;
  readonly #texts = new Map<string, string>();
  /** The change count of the view for which the texts were computed. */
  #changeCount = -1;

  constructor(view: Pick<ClusterView, 'changeCount'>) {
    this.#view = view;
  }

  /** `key` names everything else that the text depends on. */
  text(key: string, compute: () => string): string {
    if (this.#changeCount !== this.#view.changeCount || this.#texts.size >= textsMax) this.#texts.clear();
    this.#changeCount = this.#view.changeCount;
    const text = this.#texts.get(key) ?? compute();
    this.#texts.set(key, text);
    return text;
  }
}

/** More than the buckets of most clusters; with more, texts are computed again more often. */
const textsMax = 200;
