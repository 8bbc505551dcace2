// Counts the steps of matches of a regular expression. RE2 needs time linear in the text, but up to the size of the pattern for each character of it, and
// successive matches may each read the text to its end: a pattern of ten characters kept the thread for hours.
import type { RE2JS } from 're2js';
import { countSteps } from '../values/step-limit.ts';
import { TextSearch } from './text-search.ts';

/** What the engines of re2js read a text through. `step` returns the character at a position, the other two look for literal parts of the pattern. */
interface MachineInput {
  readonly charSequence: string;
  step(position: number): number;
  index(expression: { readonly prefix: string }, position: number): number;
  hasString(literal: { readonly str: string }, position: number): boolean;
}

type Execute = (input: MachineInput, ...others: unknown[]) => unknown;

/** The characters of shorter texts are not counted: matching them is fast. */
const shortText = 1_000;
/** The steps that are counted for compiling one instruction. */
const compileSteps = 64;

/** Call once for an expression, after it was compiled. */
export function countMatching(compiled: RE2JS): void {
  const size = compiled.programSize();
  countSteps(size * compileSteps);
  const engine = compiled.re2() as unknown as { executeEngine: Execute; doExecuteNFA: Execute };
  const { executeEngine, doExecuteNFA } = engine;
  const literals = new LiteralSearches();
  engine.executeEngine = (input, ...others) => {
    countSteps(size);
    if (input.charSequence.length > shortText) {
      countCharacters(input, 1);
      literals.serve(input);
    }
    return executeEngine.call(engine, input, ...others);
  };
  // For each character this engine visits up to all instructions.
  engine.doExecuteNFA = (input, ...others) => {
    countCharacters(input, size >>> 1);
    return doExecuteNFA.call(engine, input, ...others);
  };
}

function countCharacters(input: MachineInput, steps: number): void {
  const { step } = input;
  input.step = (position) => {
    countSteps(steps);
    return step.call(input, position);
  };
}

/** Searches for literal parts of the pattern in texts of one length. It stores none of the texts, since plans of statements live long. */
class LiteralSearches {
  #textLength = 0;
  readonly #searches = new Map<string, TextSearch>();

  serve(input: MachineInput): void {
    const text = input.charSequence;
    if (text.length !== this.#textLength) this.#searches.clear();
    this.#textLength = text.length;
    input.index = ({ prefix }, position) => {
      const at = this.#searchFor(prefix).find(text, position);
      return at < 0 ? at : at - position;
    };
    input.hasString = ({ str }, position) => this.#searchFor(str).find(text, position) >= 0;
  }

  #searchFor(literal: string): TextSearch {
    const known = this.#searches.get(literal);
    if (known !== undefined) return known;
    const search = new TextSearch(literal, this.#textLength);
    this.#searches.set(literal, search);
    return search;
  }
}
