// A text that counts how many of its characters are visited, and fails after as many as a single search may visit.

export class CountedText extends String {
  readonly #visitsMax: number;
  #visits = 0;

  constructor(text: string, visitsMax: number) {
    super(text);
    this.#visitsMax = visitsMax;
  }

  override charCodeAt(at: number): number {
    this.#visit(1);
    return super.charCodeAt(at);
  }

  override indexOf(searched: string, from = 0): number {
    const found = super.indexOf(searched, from);
    this.#visit((found < 0 ? this.length : found) - from);
    return found;
  }

  #visit(characters: number): void {
    this.#visits += characters;
    if (this.#visits > this.#visitsMax)
      throw new Error(`more than ${this.#visitsMax} characters were visited`);
  }
}
