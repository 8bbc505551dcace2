// Signals the end of a request to the work that it started. Most requests start none: for them no signal is made, which would take longer than
// finding the route.

/** One error for all requests: making an error takes longer than everything else at the end of a request. */
const requestIsOver = new DOMException('The request is over', 'AbortError');

export class RequestEnd {
  #controller: AbortController | null = null;
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborted when the request ends; a signal that is requested after the end is aborted already. */
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
