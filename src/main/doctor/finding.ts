// What `divan doctor` finds about this machine: each check reports what it found, and what to do about a problem.

export interface Finding {
  readonly check: string;
  /** `warning`: a node starts, but something will be slow, small or lost; `problem`: it does not start, or not for long. */
  readonly state: 'good' | 'warning' | 'problem';
  readonly text: string;
  readonly advice?: string;
}

export const good = (check: string, text: string): Finding => ({ check, state: 'good', text });
export const warning = (check: string, text: string, advice: string): Finding => ({
  check,
  state: 'warning',
  text,
  advice,
});
export const problem = (check: string, text: string, advice: string): Finding => ({
  check,
  state: 'problem',
  text,
  advice,
});
