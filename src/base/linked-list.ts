// A list whose values are removed by their links. V8 makes the table of a Map or Set anew with every second value that is added to an empty one
// and removed again, which takes several times as long.

export interface ListLink<T> {
  readonly value: T;
  /** The neighbours; null at the ends and once the link is removed. */
  previous: ListLink<T> | null;
  next: ListLink<T> | null;
  isRemoved: boolean;
}

/** Values in the order of their addition. */
export class LinkedList<T> {
  size = 0;
  #first: ListLink<T> | null = null;
  #last: ListLink<T> | null = null;

  get first(): ListLink<T> | null {
    return this.#first;
  }

  add(value: T): ListLink<T> {
    const link: ListLink<T> = { value, previous: this.#last, next: null, isRemoved: false };
    if (this.#last === null) this.#first = link;
    else this.#last.next = link;
    this.#last = link;
    this.size++;
    return link;
  }

  /** Does nothing for a link that was removed before. */
  remove(link: ListLink<T>): void {
    if (link.isRemoved) return;
    link.isRemoved = true;
    const { previous, next } = link;
    if (previous === null) this.#first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    // A removed link may live on, in V8's old generation for example. With its neighbours it would keep all values alive that were added after it.
    link.previous = null;
    link.next = null;
    this.size--;
  }

  values(): T[] {
    const values: T[] = [];
    for (let link = this.#first; link !== null; link = link.next) values.push(link.value);
    return values;
  }
}
