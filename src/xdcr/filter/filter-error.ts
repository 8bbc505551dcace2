/** An expression that is no filter: says where, and what would be right. */
export class FilterError extends Error {
  constructor(at: number, problem: string) {
    super(`at character ${at + 1}: ${problem}`);
  }
}
