// Signals the end of a request to the work that it started. Most requests start none: for them no signal is made, which would take longer than
// finding the route.

/** One for all requests: an error of its own for each would take longer than the rest of its end. */
const requestIsOver = new DOMException('The request is over', 'AbortError');

export class RequestEnd {
  #controller: AbortController | null = null;
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborted at the end, and at once after it. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#isOver) this.#controller.abort(requestIsOver);
    }
    return this.#controller.signal;
  }

  end(): void {
    this.#isOver = true;
    this.#controller?.abort(requestIsOver);
  }
}
